"use strict";
// Rollouts to go through: filters that the address keeps, a table of samples, and a sample with all of its responses.

function rollouts(block) {
  const list = make("div", {}), alone = make("div", {}), form = make("form", {class: "filters", submit: (event) => event.preventDefault()});
  const asked = () => new URLSearchParams(location.hash.slice(1));
  const address = (changes) => {
    const next = asked();
    for (const [name, value] of Object.entries(changes)) if (value) next.set(name, value); else next.delete(name);
    return `#${next}`;
  };
  const change = (changes) => { location.hash = address(changes); };
  const controls = filtering(block, form, change);
  let names = [], shown = null;
  const drawn = () => {
    const state = asked(), groups = chosen(block, state), only = state.get("sample");
    for (const [name, control] of controls) control.value = state.get(name) || "";
    names = [...groups.keys()].map((sample) => block.samples[sample].id);
    shown = names.indexOf(only);
    const sample = [...groups.keys()][shown];
    list.replaceChildren(...(shown < 0 ? [summary(block, groups), samples(block, groups, address)] : []));
    alone.replaceChildren(...(shown < 0 ? [] : sampled(block, sample, groups.get(sample), shown, names, address)));
  };
  const step = (by) => { if (shown >= 0 && names[shown + by] !== undefined) change({sample: names[shown + by]}); };
  const keys = {ArrowLeft: () => step(-1), ArrowRight: () => step(1), Escape: () => change({sample: ""})};
  document.addEventListener("keydown", (event) => {
    if (keys[event.key] && !/INPUT|SELECT/.test(event.target.tagName)) keys[event.key]();
  });
  addEventListener("hashchange", drawn);
  drawn();
  return make("div", {}, form, list, alone);
}

function filtering(block, form, change) {  // controls by name: of each filter that has two labels or more, and of texts
  const of = (each, row) => each.codes[each.of === "row" ? row : block.rows.sample[row]], controls = new Map();
  for (const each of block.filters.filter((filter) => filter.labels.length > 1)) {
    const counts = each.labels.map(() => 0);
    block.rows.sample.forEach((_, row) => { counts[of(each, row)] += 1; });
    controls.set(each.name, make("select", {change: (event) => change({[each.name]: event.target.value})},
      make("option", {value: ""}, "all"), each.labels.map((label, code) => make("option", {value: label}, `${label} (${counts[code]})`))));
  }
  controls.set("text", make("input", {type: "search", placeholder: "response, instruction, name", change: (event) => change({text: event.target.value})}));
  form.append(...[...controls].map(([name, control]) => make("label", {}, `${name} `, control)));
  return controls;
}

function chosen(block, state) {  // rows by sample, both in order
  const rows = block.rows, groups = new Map();
  const tests = block.filters.filter((each) => state.get(each.name)).map((each) => {
    const code = each.labels.indexOf(state.get(each.name));
    return each.of === "row" ? (row) => each.codes[row] === code : (row) => each.codes[rows.sample[row]] === code;
  });
  const words = (state.get("text") || "").toLowerCase(), holds = (text) => text !== null && text.toLowerCase().includes(words);
  if (words) {
    const named = block.samples.map((sample) => holds(sample.id) || holds(sample.instruction));
    tests.push((row) => named[rows.sample[row]] || holds(rows.response[row]));
  }
  rows.sample.forEach((sample, row) => {
    if (!tests.every((test) => test(row))) return;
    if (groups.has(sample)) groups.get(sample).push(row);
    else groups.set(sample, [row]);
  });
  return groups;
}

function outcome(block, row) {
  return ["right", "wrong", "unscored"][["right", "wrong", "not scored"].indexOf(label(block, "outcome", row))];
}

function label(block, name, row) {
  const filter = block.filters.find((each) => each.name === name);
  return filter.labels[filter.codes[filter.of === "row" ? row : block.rows.sample[row]]];
}

function summary(block, groups) {
  const rows = [...groups.values()].flat(), scored = rows.filter((row) => outcome(block, row) !== "unscored");
  const right = scored.filter((row) => outcome(block, row) === "right").length;
  const share = scored.length ? `, ${right.toLocaleString("en")} of ${scored.length.toLocaleString("en")} scored ones right (${(100 * right / scored.length).toFixed(1)} %)` : "";
  return make("p", {role: "status"}, `${rows.length.toLocaleString("en")} of ${block.rows.sample.length.toLocaleString("en")} rollouts, of ${groups.size.toLocaleString("en")} samples${share}`);
}

function samples(block, groups, address) {  // only the rows in sight are there
  const high = 34, every = [...groups.entries()], inner = make("div", {class: "sheet", style: {height: `${high * every.length}px`}});
  const draw = () => {
    const from = Math.max(Math.floor(box.scrollTop / high) - 10, 0);
    inner.replaceChildren(...every.slice(from, from + 50).map(([sample, rows], place) => {
      const each = block.samples[sample], right = rows.filter((row) => outcome(block, row) === "right").length;
      return make("a", {href: address({sample: each.id}), class: "sample", style: {top: `${high * (from + place)}px`}},
        make("b", {}, each.id), make("span", {class: "strip"}, rows.slice(0, 64).map((row) => make("i", {class: outcome(block, row)}))),
        make("span", {}, `${right} of ${rows.length}`), make("small", {}, [each.source, each.instruction].filter(Boolean).join(": ")));
    }));
  };
  const box = make("div", {class: "box", scroll: draw}, inner);
  draw();
  return box;
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function sampled(block, sample, rows, place, names, address) {
  const each = block.samples[sample], columns = block.rows, [wide, high] = each.size;
  const at = (row) => [columns.x_unit[row], columns.y_unit[row]];
  const spot = (row) => each.known ? `${Math.round(at(row)[0] * wide)}, ${Math.round(at(row)[1] * high)} px` : at(row).join(", ");
  const placed = rows.filter((row) => at(row).every((side) => side !== null));
  const marks = placed.map((row) => ({look: outcome(block, row), at: at(row), number: rows.indexOf(row) + 1, text: `${rows.indexOf(row) + 1}: ${spot(row)}`}));
  const link = (by, name) => names[place + by] !== undefined && make("a", {href: address({sample: names[place + by]})}, name);
  const said = (row) => ["outcome", "round", "temperature", "policy", "reason"].map((name) => [name, label(block, name, row)]).filter(([, text]) => text !== undefined)
    .map(([name, text]) => name === "outcome" || name === "reason" ? text : `${name} ${text}`).concat(columns.total[row] === null ? [] : [`total ${number(columns.total[row])}`]).join(" · ");
  const command = (row) => columns.recipe[row] && columns.target[row] && columns.response[row] !== null && !columns.cut[row] && [
    "grounding-rewards explain", quoted(columns.recipe[row]), "--response", quoted(columns.response[row]), "--target", quoted(columns.target[row]),
    ...(each.known ? ["--image-size", `${wide},${high}`] : [])].join(" ");
  const names_ = {target: "target", point: "target", right: "right", wrong: "wrong", unscored: "not scored"};
  return [
    make("p", {class: "steps"}, make("a", {href: address({sample: ""})}, "all samples"), link(-1, "previous"), link(1, "next"), make("span", {}, `${place + 1} of ${names.length}; the keys ← → Esc do the same`)),
    make("h2", {}, each.id),
    screen({alt: `clicks and target of ${each.id}`, size: each.size, views: each.views, shapes: each.shapes, marks: [...each.marks, ...marks], names: names_,
      image: each.image === null ? null : block.images[each.image], scale: null, notes: []}),
    facts({facts: [["instruction", each.instruction], ["source", each.source], ["target", columns.target[rows[0]]]].filter(([, fact]) => fact)}),
    make("ol", {class: "responses"}, rows.map((row) => make("li", {}, make("span", {class: "told"}, make("i", {class: outcome(block, row)}), said(row)),
      make("pre", {}, columns.response[row] === null ? "(no text)" : columns.response[row]),
      command(row) && make("details", {}, make("summary", {}, "the command that explains it"), make("pre", {}, command(row)))))),
  ];
}
