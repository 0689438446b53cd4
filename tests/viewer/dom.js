// Run a page's script over a small DOM: node dom.js PAGE prints what it built as HTML, or fails.
const fs = require("fs"), crypto = require("crypto"), vm = require("vm");
const page = fs.readFileSync(process.argv[2], "utf8");
const after = (start) => page.indexOf(start) + start.length;
const between = (start, end) => page.slice(after(start), page.indexOf(end, after(start)));
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
const good = (text) => { if (/NaN|undefined|\[object|Infinity/.test(text)) throw Error(`a bad value: ${text}`); return text; };

class Node {
  constructor(tag) { this.tag = tag; this.given = {}; this.inner = []; this.heard = {}; this.painted = null; }
  style = {properties: {}, setProperty(name, value) { this.properties[name] = good(value); }};
  setAttribute(name, value) { if (/^on|^style$/i.test(name)) throw Error(`${name} of ${this.tag}`); this.given[name] = good(String(value)); }
  addEventListener(name, heard) { this.heard[name] = heard; }
  append(...children) {
    for (const child of children) if (!(child instanceof Node) && typeof child !== "string" && typeof child !== "number") throw Error(`appended ${child}`);
    this.inner.push(...children);
  }
  set textContent(text) { this.inner = [text]; }
  getContext() { return {createImageData: (wide, high) => ({data: new Uint8ClampedArray(4 * wide * high)}), putImageData: (image) => { this.painted = [...image.data]; }}; }
  get html() {
    const style = Object.entries(this.style.properties).map(([name, value]) => `${name}:${value}`).join(";");
    const given = {...this.given, ...(style && {style}), ...(this.painted && {pixels: this.painted.join(",")})};
    return `<${this.tag}${Object.entries(given).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("")}>${this.inner.map((child) => child instanceof Node ? child.html : escaped(good(String(child)))).join("")}</${this.tag}>`;
  }
}

const script = between("</script>\n<script>", "</script>"), policy = between('Policy" content="', '">');
const pinned = (text) => policy.includes(`'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`);
if (!pinned(script) || !pinned(between("<style>", "</style>"))) throw Error("the policy pins another script or style");
const main = new Node("main"), data = {textContent: between('id="data">', "</script>")};
const document = {getElementById: (id) => id === "data" ? data : main, createElement: (tag) => new Node(tag), createElementNS: (_, tag) => new Node(tag)};
vm.runInNewContext(script, {document});
process.stdout.write(main.html);
