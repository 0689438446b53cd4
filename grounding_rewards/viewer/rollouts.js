"use strict";
// Rollouts to go through: filters that the address keeps, a list of samples, and a sample with all of its responses.
// What the filters leave is found in the columns of the page (held) or by its server (asked), which answer alike.

const OUTCOMES = {right: "right", wrong: "wrong", "not scored": "unscored"};
const BESIDE = ["round", "policy", "temperature"], ZOOMS = ["1", "2", "4", "8"];
const many = (count) => count.toLocaleString("en");
const addressed = (changes, state = new URLSearchParams()) => {
  for (const [name, value] of Object.entries(changes)) if (value) state.set(name, value); else state.delete(name);
  return `#${state}`;
};

function asked(block) {
  const answer = async (name, state, more = {}) => {
    const got = await fetch(`${name}?${new URLSearchParams([...state, ...Object.entries(more)])}`), said = await got.json();
    if (!got.ok) throw Error(said.error);
    return said;
  };
  return {find: (state) => answer("find", state), lines: (state, first, most) => answer("lines", state, {first, most}), sample: (state) => answer("sample", state)};
}

function held({rows, samples, filters, images}) {
  const codes = Object.fromEntries(filters.map((each) => [each.name, each])), texts = samples.map((each) => [each.id, each.instruction]);
  const label = (name, row) => codes[name].codes[row] < 0 ? null : codes[name].labels[codes[name].codes[row]];
  const has = (text, words) => text !== null && text.toLowerCase().includes(words);
  let last = [null, null];
  const groups = (state) => {  // rows by sample, both in order
    const tests = filters.filter((each) => state.get(each.name)).map((each) => [each.codes, each.labels.indexOf(state.get(each.name))]);
    const words = (state.get("text") || "").toLowerCase(), named = words && texts.map((each) => each.some((text) => has(text, words)));
    const key = JSON.stringify([words, tests.map(([, code]) => code), filters.filter((each) => state.get(each.name)).map((each) => each.name)]);
    if (last[0] === key) return last[1];
    const found = new Map();
    rows.sample.forEach((sample, row) => {
      if (!tests.every(([of, code]) => of[row] === code) || words && !named[sample] && !has(rows.response[row], words)) return;
      if (found.has(sample)) found.get(sample).push(row);
      else found.set(sample, [row]);
    });
    last = [key, found];
    return found;
  };
  const outcomes = (found) => found.map((row) => label("outcome", row));
  return {
    find: async (state) => {
      const found = [...groups(state).values()].flat(), said = outcomes(found);
      return {rollouts: found.length, samples: groups(state).size, scored: said.filter((each) => each !== "not scored").length, right: said.filter((each) => each === "right").length};
    },
    lines: async (state, first, most) => [...groups(state)].slice(first, first + most).map(([sample, found]) => ({
      ...samples[sample], outcomes: outcomes(found), labels: found.map((row) => state.get("beside") in codes ? label(state.get("beside"), row) || "" : ""),
    })),
    sample: async (state) => {
      const order = [...groups(state).keys()], place = order.findIndex((sample) => samples[sample].id === state.get("sample"));
      if (place < 0) return null;
      const each = samples[order[place]], id = (at) => order[at] === undefined ? null : samples[order[at]].id;
      return {...each, place, before: id(place - 1), after: id(place + 1), image: each.image === null ? null : images[each.image], notes: [],
        rows: groups(state).get(order[place]).map((row) => ({labels: Object.fromEntries(filters.map(({name}) => [name, label(name, row)])),
          ...Object.fromEntries(Object.entries(rows).map(([name, column]) => [name, column[row]]))}))};
    },
  };
}

function rollouts(block) {
  const source = block.rows ? held(block) : asked(block), state = () => new URLSearchParams(location.hash.slice(1));
  const form = make("form", {class: "filters", "aria-label": "Filters", submit: (event) => event.preventDefault()});
  const list = make("div", {class: "samples"}), alone = make("div"), address = (changes) => addressed(changes, state()), change = (changes) => { location.hash = address(changes); };
  const controls = filtering(block, form, change);
  let seen = null, turn = 0;
  const drawn = async () => {
    const now = state(), mine = ++turn;
    list.setAttribute("aria-busy", "true");
    for (const [name, control] of controls) control.value = now.get(name) || "";
    for (const more of form.querySelectorAll("details")) more.open = more.open || [...more.querySelectorAll("select")].some((each) => each.value);
    try {
      const [counts, sample] = await Promise.all([source.find(now), now.get("sample") ? source.sample(now) : null]);
      if (mine !== turn) return;  // another came meanwhile
      const back = !sample && seen, heading = sample && (!seen || seen.id !== sample.id);
      list.replaceChildren(...(sample ? [] : [summary(block, counts), listed(source, now, counts, address, back ? seen : null)]));
      alone.replaceChildren(...(sample ? sampled(sample, counts, now, address, change) : []));
      seen = sample;
      if (heading) alone.querySelector("h2").focus();
      alone.querySelectorAll(".pan").forEach(centred);
    } catch (error) {
      list.replaceChildren(make("p", {role: "alert"}, `the server does not answer: ${error.message}`));
      alone.replaceChildren();
    }
    list.setAttribute("aria-busy", "false");
    if (location.hash.includes("=") && form.getBoundingClientRect().top > innerHeight / 2) form.scrollIntoView();
  };
  const keys = {ArrowLeft: () => seen.before, ArrowRight: () => seen.after, Escape: () => ""};
  document.addEventListener("keydown", (event) => {
    if (!seen || !keys[event.key] || event.target.closest("input,select,.pan")) return;
    const next = keys[event.key]();
    if (next !== null) change({sample: next});
  });
  addEventListener("hashchange", drawn);
  setTimeout(drawn);  // once it stands on the page
  return make("div", {}, form, list, alone);
}

function centred(pan) {  // scroll to the target, else to a click
  const spot = pan.querySelector(":scope polygon:not(.frame), .mark:not(.label)");
  if (!spot) return;
  const [from, to] = [pan, spot].map((each) => each.getBoundingClientRect());
  pan.scrollBy(to.left + to.width / 2 - from.left - from.width / 2, to.top + to.height / 2 - from.top - from.height / 2);
}

function filtering(block, form, change) {  // controls by name: of each filter that has two labels or more, and of texts
  const controls = new Map(), chosen = (name, ...inner) => {
    controls.set(name, make("select", {change: (event) => change({[name]: event.target.value})}, inner));
    return make("label", {}, `${name} `, controls.get(name));
  };
  const option = (value, text = value) => make("option", {value}, text), several = block.filters.filter((each) => each.labels.length > 1);
  const choice = (each) => chosen(each.name, option("", "all"), each.labels.map((label, place) => option(label, `${label} (${many(each.counts[place])})`)));
  const further = several.filter((each) => /^(right in|from|by) /.test(each.name)), beside = several.filter((each) => BESIDE.includes(each.name));
  controls.set("text", make("input", {type: "search", placeholder: "response, instruction, name", change: (event) => change({text: event.target.value})}));
  form.append(...[several.filter((each) => !further.includes(each)).map(choice), make("label", {}, "text ", controls.get("text")),
    beside.length && chosen("beside", option("", "nothing"), beside.map((each) => option(each.name))),
    further.length && make("details", {}, make("summary", {}, "further filters"), further.map(choice))].flat().filter(Boolean));
  return controls;
}

function summary(block, counts) {
  const all = block.rows ? block.rows.sample.length : block.rollouts;
  const share = counts.scored ? `, ${many(counts.right)} of ${many(counts.scored)} scored ones right (${(100 * counts.right / counts.scored).toFixed(1)} %)` : "";
  return make("p", {role: "status"}, `${many(counts.rollouts)} of ${many(all)} rollouts, of ${many(counts.samples)} samples${share}`);
}

function listed(source, state, counts, address, from) {  // only the lines in sight are there
  const high = 34, inner = make("div", {class: "sheet", style: {height: `${high * counts.samples}px`}}), lines = new Map();
  const line = (each, place) => {
    const strips = new Map(), right = each.outcomes.filter((outcome) => outcome === "right").length;
    each.outcomes.forEach((outcome, row) => strips.set(each.labels[row], [...(strips.get(each.labels[row]) || []), outcome]));
    return make("a", {href: address({sample: each.id}), class: "sample", style: {top: `${high * place}px`}}, make("b", {}, each.id),
      make("span", {class: "strip"}, [...strips].map(([label, outcomes]) => make("span", {title: label}, outcomes.slice(0, 64).map((outcome) => make("i", {class: OUTCOMES[outcome]}))))),
      make("span", {}, `${right} of ${each.outcomes.length}`), make("small", {}, [each.source, each.instruction].filter(Boolean).join(": ")));
  };
  let wanted = 0;
  const draw = async () => {
    const first = Math.max(Math.floor(box.scrollTop / high) - 15, 0), mine = ++wanted;
    const got = await source.lines(state, first, 50);
    if (mine !== wanted) return;
    for (const [place, old] of lines) if (place < first || place >= first + got.length) { old.remove(); lines.delete(place); }
    const before = lines.size ? Math.min(...lines.keys()) : Infinity, added = [];
    got.forEach((each, at) => {  // those that stay keep the focus
      if (lines.has(first + at)) return;
      lines.set(first + at, line(each, first + at));
      added.push(first + at);
    });
    inner.prepend(...added.filter((place) => place < before).map((place) => lines.get(place)));
    inner.append(...added.filter((place) => place >= before).map((place) => lines.get(place)));
    if (from) { const back = lines.get(from.place); from = null; if (back) back.focus(); }
  };
  const box = make("div", {class: "box", scroll: draw, role: "region", "aria-label": "Samples", tabindex: "0"}, inner);
  setTimeout(() => { if (from) box.scrollTop = Math.max(high * (from.place - 5), 0); draw(); });
  return box;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function sampled(each, counts, state, address, change) {
  const beside = state.get("beside"), zoom = ZOOMS.includes(state.get("zoom")) ? state.get("zoom") : "1";
  const link = (id, name) => id !== null && make("a", {href: address({sample: id})}, name);
  const zooms = make("select", {change: (event) => change({zoom: event.target.value === "1" ? "" : event.target.value})}, ZOOMS.map((value) => make("option", {value}, `${value} x`)));
  zooms.value = zoom;
  const sides = new Map();  // rollouts by the label that they stand beside each other by
  each.rows.forEach((row, place) => {
    const label = beside in row.labels ? row.labels[beside] || "unknown" : "";
    sides.set(label, [...(sides.get(label) || []), {...row, number: place + 1}]);
  });
  return [
    make("p", {class: "steps"}, make("a", {href: address({sample: ""})}, "all samples"), link(each.before, "previous"), link(each.after, "next"),
      make("span", {}, `${many(each.place + 1)} of ${many(counts.samples)}; the keys ← → Esc do the same`), make("label", {}, "zoom ", zooms)),
    make("h2", {tabindex: "-1"}, each.id),
    facts({facts: [["instruction", each.instruction], ["source", each.source], ["target", each.rows[0].target], ["note", each.notes.join("; ")]].filter(([, fact]) => fact)}),
    make("div", {class: sides.size > 1 ? "beside" : ""}, [...sides].map(([label, rows]) => side(each, label, rows, +zoom))),
  ];
}

function side(each, label, rows, zoom) {  // the screen with some rollouts, and their responses
  const [wide, high] = each.size, at = (row) => [row.x_unit, row.y_unit];
  const spot = (row) => each.known ? `${Math.round(row.x_unit * wide)}, ${Math.round(row.y_unit * high)} px` : at(row).join(", ");
  const marks = rows.filter((row) => at(row).every((side) => side !== null)).map((row) => ({
    look: OUTCOMES[row.labels.outcome], at: at(row), number: row.number, text: `${row.number}: ${spot(row)}`}));
  const said = ({labels, total}) => [labels.outcome, labels.round, labels.temperature && `temperature ${labels.temperature}`, labels.policy && `policy ${labels.policy}`,
    labels.reason, total !== null && `total ${number(total)}`].filter(Boolean).join(" · ");
  const command = (row) => row.recipe && row.target && row.response !== null && !row.cut && [
    "grounding-rewards explain --recipe", quoted(row.recipe), "--response", quoted(row.response), "--target", quoted(row.target),
    ...(each.known ? ["--image-size", `${wide},${high}`] : [])].join(" ");
  const right = rows.filter((row) => row.labels.outcome === "right").length;
  return make("div", {}, label && make("h3", {}, `${label}: ${right} of ${rows.length} right`),
    screen({alt: `clicks and target of ${each.id}`, size: each.size, views: each.views, shapes: each.shapes, marks: [...each.marks, ...marks],
      names: {target: "target", point: "target", right: "right", wrong: "wrong", unscored: "not scored"}, image: each.image, scale: null, notes: []}, zoom),
    make("ol", {class: "responses"}, rows.map((row) => make("li", {value: row.number}, make("span", {class: "said"}, make("i", {class: OUTCOMES[row.labels.outcome]}), said(row)),
      make("pre", {}, row.response === null ? "(no text)" : row.response),
      command(row) && make("details", {}, make("summary", {}, "the command that explains it"), make("pre", {}, command(row)))))));
}
