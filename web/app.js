// SPDX-License-Identifier: Apache-2.0
// The page: one trace at a time, one axis for all its pictures.

import { Axis, beginOf } from "./axis.js";
import { Blocks } from "./blocks.js";
import { showDetails } from "./details.js";
import { showDifference } from "./difference.js";
import { Findings } from "./findings.js";
import { Flame } from "./flame.js";
import { Ground, groundsOf, kGrounds, kWays } from "./ground.js";
import { Timeline } from "./timeline.js";
import { showGrowth, showOwners } from "./owners.js";
import { Places } from "./places.js";
import { isAlive, readPacked, readTrace } from "./trace.js";
import { bytesText, countText, forgetStyles, make, many, timeText } from "./words.js";

const kKeys = [["+ and -", "zoom in and out"], ["← and →", "move"], ["0", "the whole run"], ["p", "to the peak"], ["↑ and ↓", "the block above or below"],
  ["[ and ]", "the finding before and after"], ["z", "zoom to the life of the block"], ["1 to 5", "flame graph, addresses, findings, owners, growth"],
  ["t", "dark or light"], ["Escape", "let go of the block"]];

export class App {
  constructor(traces, live) {
    this.traces = traces;
    this.live = live;
    this.selected = -1;
    this.grounds = new Map();
    this.key = "device";
    this.way = "stack";
    this.frames = [];  // how long the last drawings took, in ms
    this.axis = new Axis(1);
    this.axis.onChange(what => this.moved(what));
    this.build();
    this.open(0);
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    addEventListener("keydown", event => this.pressed(event));
  }

  get ground() { return this.groundOf(this.key); }
  groundOf(key) {
    const name = `${key} ${this.way}`;
    if (!this.grounds.has(name)) this.grounds.set(name, new Ground(this.trace, key, this.way));
    return this.grounds.get(name);
  }

  build() {
    const page = document.getElementById("page");
    this.head = make("header");
    this.numbers = make("div", { class: "numbers" });
    const option = ([value, text]) => make("option", { value }, text);
    this.grounder = make("select", { "aria-label": "What is shown", onchange: () => { this.key = this.grounder.value; this.restart(); } });
    const way = make("select", { "aria-label": "By what it is stacked", onchange: () => { this.way = way.value; this.restart(); } },
      ...Object.entries(kWays).map(([value, text]) => option([value, "by " + text])));
    const button = (text, action, label) => make("button", { onclick: action, "aria-label": label }, text);
    const tools = make("div", { class: "row tools" }, this.grounder, way, button("+", () => this.axis.zoom(0.5, 0.5), "Zoom in"),
      button("−", () => this.axis.zoom(2, 0.5), "Zoom out"), button("Whole run", () => this.axis.show(0, this.axis.end)),
      button("Peak", () => this.toPeak()), button("◐", () => this.turnTheme(), "Dark or light"), button("?", () => this.help.toggleAttribute("hidden"), "Keys"));
    this.help = make("dl", { class: "keys", hidden: true }, ...kKeys.flatMap(([key, meaning]) => [make("dt", {}, key), make("dd", {}, meaning)]));
    this.said = make("p", { class: "said", "aria-live": "polite" });
    const chart = make("canvas", { id: "blocks", tabindex: 0, role: "img", "aria-label": "blocks over time" });
    const below = make("canvas", { id: "timeline", role: "img", "aria-label": "pools, ranges, marks and streams over time" });
    this.details = make("aside", { id: "details", "aria-live": "polite" });
    this.tabs = [["flame", "Flame graph"], ["places", "Addresses"], ["findings", "Findings"], ["owners", "Owners"], ["growth", "Growth"]];
    if (this.traces.length > 1) this.tabs.push(["difference", "Difference"]);
    this.tabBar = make("div", { class: "tabs", role: "tablist" }, ...this.tabs.map(([key, title]) =>
      make("button", { role: "tab", id: `tab-${key}`, "aria-controls": `panel-${key}`, onclick: () => this.showTab(key) }, title)));
    this.panels = Object.fromEntries(this.tabs.map(([key]) => [key, make("section", { role: "tabpanel", id: `panel-${key}`, "aria-labelledby": `tab-${key}`, hidden: true })]));
    page.replaceChildren(this.head, this.numbers, tools, this.help, this.said,
      make("div", { class: "desk" }, make("div", { class: "charts" }, chart, below), this.details), this.tabBar, ...Object.values(this.panels));
    this.blocks = new Blocks(chart, this);
    this.timeline = new Timeline(below, this);
    this.flame = new Flame(this.panels.flame, this);
    this.places = new Places(this.panels.places, this);
    this.findings = new Findings(this.panels.findings, this);
  }

  // keep: stay where one is, because the same trace has grown.
  open(index, keep) {
    this.index = index;
    this.trace = this.traces[index];
    this.grounds.clear();
    const { process } = this.trace;
    if (!keep) this.selected = -1;
    const filled = groundsOf(this.trace);
    this.grounder.replaceChildren(...(filled.length > 0 ? filled : kGrounds.slice(0, 1)).map(({ key, title }) => make("option", { value: key }, title)));
    if (!filled.some(({ key }) => key === this.key)) this.key = filled[0]?.key ?? "device";
    this.grounder.value = this.key;
    this.timeline.read(this.trace);
    if (keep) this.axis.grow(process.duration); else this.axis.end = Math.max(process.duration, 1);
    this.tellNumbers();
    if (!keep) {
      this.axis.from = this.live || this.ground.isEmpty ? 0 : beginOf(this.ground.series.times[0], this.axis.end);
      this.axis.to = this.axis.end;
      this.axis.moment = this.ground.isEmpty ? 0 : this.ground.series.times[this.ground.peakStep];
    }
    this.restart();
    this.showTab(keep ? this.tab : this.trace.findings.length > 0 ? "findings" : "flame");
  }

  tellNumbers() {
    const { process, findings } = this.trace;
    document.title = `plat: ${process.program || process.pid}`;
    const choose = make("select", { "aria-label": "Process", onchange: () => this.open(Number(choose.value)) },
      ...this.traces.map((trace, i) => make("option", { value: i, selected: i === this.index }, trace.process.title)));
    this.head.replaceChildren(make("h1", {}, process.program || "a program"), this.traces.length > 1 ? choose : "",
      make("p", { class: "said" }, `pid ${process.pid}` + (process.complete || this.live ? "" : "; the trace does not reach the program's end") +
        (process.lost > 0 ? `; ${many(process.lost, "event")} lost` : "") + (process.pools ? "; the recorder saw what pools reported, not the calls of the device" : "")));
    const number = (value, name, isBad) => make("div", {}, make("b", isBad ? { class: "bad" } : {}, value), make("span", {}, name));
    this.numbers.replaceChildren(number(bytesText(process.peak), `peak, at ${timeText(process.peakAt)}`), number(bytesText(process.left), this.live ? "now" : "left at the end"),
      number(timeText(process.duration), "recorded"), number(countText(process.events), "events"), number(bytesText(process.copied), "copied"),
      number(countText(findings.length), "findings", findings.some(finding => finding.severity === "error")));
  }

  restart() {
    this.tell();
    showDetails(this.details, this);
    this.drawNow();
    this.refreshTab();
  }

  // What is shown, in words.
  tell() {
    const { ground, axis } = this, title = kGrounds.find(({ key }) => key === this.key).title;
    this.said.textContent = ground.isEmpty ? `${title}: none.` : `${title}: ${bytesText(ground.series.at(axis.moment))} at ${timeText(axis.moment)}, peak ${bytesText(ground.peak)} at ` +
      `${timeText(ground.series.times[ground.peakStep])}. Shown: ${timeText(axis.from)} to ${timeText(axis.to)}.`;
  }

  moved(what) {
    this.draw();
    if (typeof what !== "string") return;
    this.tell();
    clearTimeout(this.later);
    this.later = setTimeout(() => { if (this.tab === "flame") this.flame.changed(what); if (this.tab === "places") this.places.changed(what); }, 60);
  }

  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => this.drawNow());
  }
  drawNow() {
    cancelAnimationFrame(this.drawing);
    this.drawing = 0;
    forgetStyles();
    const start = performance.now();
    this.blocks.draw();
    this.timeline.draw();
    this.frames.push(performance.now() - start);
    if (this.frames.length > 1000) this.frames.shift();
    if (this.tab === "flame") this.flame.draw();
    if (this.tab === "places") this.places.draw();
  }

  select(life) {
    this.selected = life;
    showDetails(this.details, this);
    this.draw();
  }
  // To a block, wherever it is: another ground if it is in none of this one.
  jump(life, ns) {
    if (!this.ground.inside[life]) {
      const holding = kGrounds.find(({ holds }) => holds(this.trace, life));
      if (holding) { this.key = this.grounder.value = holding.key; }
    }
    const { born, died } = this.trace.life;
    let at = ns ?? this.axis.moment;
    if (!isAlive(this.trace, life, at)) at = ns !== undefined && died[life] >= 0 && ns > died[life] ? Math.max(born[life], died[life] - 1) : born[life];
    this.selected = life;
    this.axis.reveal(at);
    this.axis.choose(at);
    this.restart();
  }
  showLife(life) {
    const { born, died } = this.trace.life, end = died[life] < 0 ? this.axis.end : died[life], room = Math.max((end - born[life]) * 0.15, 100);
    this.axis.show(born[life] - room, end + room);
  }
  showFinding(index) {
    this.showTab("findings");
    this.findings.show(index);
  }
  toPeak() {
    if (this.ground.isEmpty) return;
    const ns = this.ground.series.times[this.ground.peakStep];
    this.axis.reveal(ns);
    this.axis.choose(ns);
  }

  showTab(key) {
    this.tab = key;
    for (const [name, panel] of Object.entries(this.panels)) panel.hidden = name !== key;
    for (const tab of this.tabBar.children) tab.setAttribute("aria-selected", tab.id === `tab-${key}`);
    this.refreshTab();
  }
  refreshTab() {
    const panel = this.panels[this.tab];
    if (this.tab === "flame") this.flame.update();
    else if (this.tab === "places") this.places.update();
    else if (this.tab === "findings") this.findings.update();
    else if (this.tab === "owners") showOwners(panel, this);
    else if (this.tab === "growth") showGrowth(panel, this);
    else if (this.tab === "difference") showDifference(panel, this);
  }

  turnTheme() {
    const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    this.drawNow();
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
    const { axis } = this;
    const place = axis.moment >= axis.from && axis.moment <= axis.to ? (axis.moment - axis.from) / axis.span : 0.5;
    const actions = { "+": () => axis.zoom(0.5, place), "=": () => axis.zoom(0.5, place), "-": () => axis.zoom(2, place), "0": () => axis.show(0, axis.end),
      ArrowLeft: () => axis.pan(-0.15), ArrowRight: () => axis.pan(0.15), p: () => this.toPeak(), t: () => this.turnTheme(), Escape: () => this.select(-1),
      "[": () => { this.showTab("findings"); this.findings.next(-1); }, "]": () => { this.showTab("findings"); this.findings.next(1); },
      "?": () => this.help.toggleAttribute("hidden"), z: () => { if (this.selected >= 0) this.showLife(this.selected); },
      ArrowUp: () => this.select(this.blocks.neighbourOf(this.selected, 1)), ArrowDown: () => this.select(this.blocks.neighbourOf(this.selected, -1)) };
    const tab = this.tabs[Number(event.key) - 1];
    if (event.key.startsWith("Arrow") && event.target.closest?.("details, [role=tabpanel], aside")) return;  // that scrolls
    if (actions[event.key]) actions[event.key]();
    else if (event.key >= "1" && tab) this.showTab(tab[0]);
    else return;
    event.preventDefault();
  }
}

async function begin() {
  const page = document.getElementById("page");
  try {
    if (globalThis.platFollow) return await globalThis.platFollow(App, readPacked);  // live.js
    const packed = [...document.querySelectorAll("script.data")];
    const traces = await Promise.all(packed.map(script => readTrace(script.textContent.trim())));
    for (const script of packed) script.remove();
    globalThis.plat = new App(traces, false);
  } catch (problem) {
    page.replaceChildren(make("p", { class: "bad" }, `This page cannot be shown: ${problem.message}`));
    throw problem;
  }
}

begin();
