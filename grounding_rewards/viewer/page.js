// Draws the page from its data. Texts reach it by text nodes and attributes alone, so none is read as HTML.
const DRAWN = ["svg", "polygon", "polyline", "line"];
const OVER = [214, 0, 147], MOST = 0.35;  // colour and opacity of the highest total over a screenshot

function make(tag, given, ...children) {
  const made = DRAWN.includes(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (name === "style") Object.entries(value).forEach(([property, set]) => made.style.setProperty(property, set));
    else if (typeof value === "function") made.addEventListener(name, value);
    else if (![null, undefined, false].includes(value)) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return made;
}

const percent = (share) => `${+(100 * share).toFixed(4)}%`;
const number = (value) => String(+value.toPrecision(5));
const rgb = (colour) => `rgb(${colour.map(Math.round).join(",")})`;
const parsed = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
// The ink with the higher contrast: 0.179 is where black and white are equal (WCAG 2).
const light = (colour) => colour.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
const ink = (colour) => light(colour) > 0.179 ? "#000" : "#fff";
const filled = (colour) => ({"background-color": rgb(colour), color: ink(colour)});

function shade(share) {
  const at = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1), low = Math.min(Math.floor(at), SCALE.length - 2);
  return SCALE[low].map((part, place) => part + (SCALE[low + 1][place] - part) * (at - low));
}

// What leads to rollouts that the page lists is a link; each label must be there.
const lists = (to) => to && listing && to.every(([name, label]) => name === "sample" || listing.filters.some((each) => each.name === name && each.labels.includes(label)));
const leading = (tag, to, given, ...inner) => lists(to) ? make("a", {...given, href: `#${new URLSearchParams(to)}`}, inner) : make(tag, given, inner);
const said = (text) => text.to ? leading("span", text.to, {}, text.text) : text.text || text;
const plain = (text) => text.text || text;

const key = (...entries) => make("figcaption", {class: "key"}, entries);
const swatch = (name, colour) => make("span", {}, make("i", {style: {"background-color": colour}}), name);

function text(block) {
  return block.lines.length === 1 ? make("p", {}, block.lines.map(said)) : make("ul", {}, block.lines.map((line) => make("li", {}, said(line))));
}

function facts(block) {
  return make("dl", {}, block.facts.map(([name, fact]) => [make("dt", {}, name), make("dd", {}, fact)]));
}

function scrolled(name, ...inner) {  // a wide table scrolls by itself, by keyboard too
  return make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": name}, inner);
}

function table(block) {
  const long = block.heads.map((_, place) => place && block.rows.some((row) => plain(row[place]).length > 24) ? "long" : "");
  return scrolled(block.caption, make("table", {class: "list"}, make("caption", {}, block.caption),
    make("thead", {}, make("tr", {}, block.heads.map((head, place) => make("th", {scope: "col", class: long[place]}, head)))),
    make("tbody", {}, block.rows.map((row) => make("tr", {}, row.map((cell, place) =>
      place ? make("td", {class: long[place]}, said(cell)) : make("th", {scope: "row"}, said(cell))))))));
}

function bars(block) {
  return make("figure", {}, make("div", {class: "bars", role: "group", "aria-label": block.alt}, block.rows.map((row) => [
    make("span", {}, row.label),
    make("span", {class: "track"}, row.parts.map(([part, share, text, to]) => leading("span", to, {
      class: "part", style: {flex: `0 0 ${percent(share)}`, ...filled(parsed(block.key[part][1]))}, title: `${block.key[part][0]}: ${text}`,
      "aria-label": lists(to) && `${row.label}, ${block.key[part][0]}: ${text}`,
    }, share > 0.012 * (text.length + 2) && text)),
    row.mark !== null && make("b", {style: {left: percent(row.mark)}, title: `${block.mark}: ${percent(row.mark)}`})),
    make("span", {}, row.end)])),
  block.key.length > 1 && key(block.key.map(([name, colour]) => swatch(name, colour)), block.mark && make("span", {}, `▼ ${block.mark}`)));
}

function lines(block) {
  const many = block.series.length, places = block.labels.length, step = Math.min(0.7 / many, 0.14);
  const x = (place, each) => (place + 0.5 + (each - (many - 1) / 2) * step) / places;  // intervals beside each other
  const drawn = block.series.map((series, each) => series.points.map((point, place) => [x(place, each), ...point])
    .filter((point) => point[1] !== null));
  return make("figure", {}, make("div", {class: "plot", role: "group", "aria-label": block.alt},
    block.ticks.map(([at, name]) => make("span", {class: "tick", style: {bottom: percent(at)}}, name)),
    make("svg", {viewBox: "0 0 1 1", preserveAspectRatio: "none"},
      block.ticks.map(([at]) => make("line", {class: "rule", x1: "0", x2: "1", y1: `${1 - at}`, y2: `${1 - at}`})),
      drawn.map((points, each) => [make("polyline", {points: points.map(([at, value]) => `${at},${1 - value}`).join(" "), style: {stroke: block.series[each].colour}}),
        points.filter((point) => point[2] !== null).map(([at, , low, high]) => make("line", {x1: `${at}`, x2: `${at}`, y1: `${1 - low}`, y2: `${1 - high}`, style: {stroke: block.series[each].colour}}))])),
    drawn.map((points, each) => points.map(([at, value, , , text, to]) => leading("span", to, {class: "dot", title: `${block.series[each].name}: ${text}`,
      "aria-label": lists(to) && `${block.series[each].name}: ${text}`, style: {left: percent(at), bottom: percent(value), "background-color": block.series[each].colour}})))),
  make("div", {class: "under"}, block.labels.map(([name, more]) => make("span", {}, name, more && make("small", {}, more)))),
  many > 1 && key(block.series.map((series) => swatch(series.name, series.colour))));
}

function heat(block) {
  return make("div", {class: "beside", role: "group", "aria-label": block.alt}, block.matrices.map((each) => scrolled(each.title,
    make("table", {class: each.columns.length > 12 ? "matrix dense" : "matrix"}, make("caption", {}, each.title),
      make("thead", {}, make("tr", {}, make("td", {}), each.columns.map((column) => make("th", {scope: "col"}, column)))),
      make("tbody", {}, each.rows.map((row) => make("tr", {}, make("th", {scope: "row"}, row.label), row.cells.map((cell, place) =>
        cell ? make("td", {style: filled(shade(Math.sqrt(cell[2])))}, leading("span", cell[3], {"aria-label": lists(cell[3]) && `${row.label}, ${each.columns[place]}: ${cell[0]}`}, cell[0], cell[1] && make("small", {}, cell[1]))) : make("td", {})))))))));
}

function painted(cells, [low, high], over) {  // a cell of the map is one pixel
  const canvas = make("canvas", {width: `${cells[0].length}`, height: `${cells.length}`}), brush = canvas.getContext("2d");
  const image = brush.createImageData(cells[0].length, cells.length);
  cells.flat().forEach((total, place) => {
    const share = (total - low) / (high - low);
    image.data.set(over ? [...OVER, 255 * MOST * share] : [...shade(share), 255], 4 * place);
  });
  brush.putImageData(image, 0, 0);
  return canvas;
}

function outline(look, corners) {  // dark below light shows on any screenshot
  const points = corners.map((corner) => corner.join(",")).join(" ");
  return ["halo", ""].map((halo) => make("polygon", {class: `${look} ${halo}`, points: points}));
}

function screen(block, zoom = 1) {  // the first view can be drawn larger than the page, and is scrolled then
  const scale = block.scale, total = make("output", {}), maps = [];
  const used = new Set([...block.shapes, ...block.marks].map((each) => each.look));
  const views = block.views.map((view, place) => {
    const [x1, y1, x2, y2] = view.window, wide = x2 - x1, high = y2 - y1;
    const at = ([x, y]) => ({left: percent((x - x1) / wide), top: percent((y - y1) / high)});
    const inside = ([x, y]) => x >= x1 && x <= x2 && y >= y1 && y <= y2;
    const aspect = Math.min(Math.max(block.size[0] * wide / (block.size[1] * high), 0.2), 5);  // else nothing shows
    const map = view.cells && painted(view.cells, scale, block.image), closer = place ? [] : block.views.slice(1);
    if (map) maps.push(map);
    const told = (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const [column, row] = [[event.clientX - box.left, box.width, view.cells[0].length], [event.clientY - box.top, box.height, view.cells.length]]
        .map(([from, side, cells]) => Math.min(Math.max(Math.floor(from / side * cells), 0), cells - 1));
      total.textContent = `total ${number(view.cells[row][column])}`;
    };
    const large = !place && zoom > 1, most = `${Math.round(aspect * (place ? 280 : 560))}px`;
    const stage = make("div", {class: "stage", style: {"aspect-ratio": `${aspect}`, ...(large ? {width: percent(zoom)} : {"max-width": most})}, pointermove: map && told},
      make("div", {class: "clip", role: "img", "aria-label": place ? view.title : block.alt},
        block.image && make("img", {src: block.image, alt: "", style: {...at([0, 0]), width: percent(1 / wide), height: percent(1 / high)}}), map,
        make("svg", {viewBox: [x1, y1, wide, high].join(" "), preserveAspectRatio: "none"},
          block.shapes.map((each) => outline(each.look, each.corners)),
          closer.map(({window: [a, b, c, d]}) => outline("frame", [[a, b], [c, b], [c, d], [a, d]])))),
      closer.map((each, other) => make("span", {class: "mark label", style: at(each.window)}, `${other + 1}`)),
      block.marks.filter((each) => inside(each.at)).map((each) => make("span", {class: `mark ${each.look}`, style: at(each.at), title: each.text}, each.number && make("b", {}, `${each.number}`))));
    return make("div", {class: "view"}, view.title && make("small", {}, view.title),
      large ? make("div", {class: "pan", style: {"max-width": most}, tabindex: "0", role: "region", "aria-label": `${block.alt}, ${zoom} x`}, stage) : stage);
  });
  const fade = (event) => maps.forEach((map) => map.style.setProperty("opacity", `${event.target.value / 100}`));
  const colours = block.image ? `transparent, rgba(${OVER.join(",")},${MOST})` : SCALE.map(rgb).join(",");
  return make("figure", {}, make("div", {class: "views"}, views[0], views.length > 1 && make("div", {class: "closer"}, views.slice(1))), key(
    [...used].map((look) => make("span", {}, block.shapes.some((each) => each.look === look) ? make("i", {class: "outline"}) : make("span", {class: `mark ${look}`}), block.names[look])),
    scale && make("span", {}, `${number(scale[0])} `, make("span", {class: "scale", style: {"background-image": `linear-gradient(to right,${colours})`}}),
      ` ${number(scale[1])}: ${scale[2]} `, total),
    scale && block.image && make("label", {}, "show it ", make("input", {type: "range", min: "0", max: "100", value: "100", input: fade}))),
  block.notes.map((note) => make("p", {class: "note"}, note)));
}

const BLOCKS = {text, facts, table, bars, lines, heat, screen, rollouts};
const data = JSON.parse(document.getElementById("data").textContent), SCALE = data.scale.map(parsed);
const present = data.sections.filter((each) => !each.missing), missing = data.sections.filter((each) => each.missing);
const titled = present.filter((each) => each.title);
const listing = data.sections.flatMap((each) => each.blocks).find((block) => block.kind === "rollouts");
const drawn = (block) => [block.title && make("h3", {}, said(block.title)), BLOCKS[block.kind](block)];

function together(blocks) {  // blocks that stand beside each other in one grid
  const groups = [];
  for (const block of blocks) {
    const last = groups[groups.length - 1];
    if (block.beside && last && last[0].beside) last.push(block);
    else groups.push([block]);
  }
  return groups.map((group) => group[0].beside ? make("div", {class: "beside"}, group.map((block) => make("div", {}, drawn(block)))) : group.map(drawn));
}

document.getElementById("page").append(...[
  make("h1", {}, data.title), data.remarks.map((remark) => make("p", {class: "remark"}, remark)),
  titled.length > 2 && make("nav", {"aria-label": "Sections"}, make("ul", {}, titled.map((each) => make("li", {}, make("a", {href: `#${each.key}`}, each.title))))),
  present.map((each) => make("section", each.title ? {"aria-labelledby": each.key} : {}, each.title && make("h2", {id: each.key}, each.title), each.lead && make("p", {}, each.lead), together(each.blocks))),
  missing.length && make("section", {"aria-labelledby": "missing"}, make("h2", {id: "missing"}, "Not shown"), facts({facts: missing.map((each) => [each.title, each.missing])})),
  make("footer", {}, make("p", {}, `Made by grounding-rewards ${data.version}, `, make("code", {}, data.made_by))),
].flat(Infinity).filter(Boolean));
