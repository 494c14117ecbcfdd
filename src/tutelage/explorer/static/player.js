// Play back a training: a button, and a slider over its frames.
import { make, say } from "./words.js";

const PACE = 125; // ms for a frame
const CALM = 1000; // where the reader has asked for less motion

export class Player {
  #timer = 0;
  #frames = [];
  #at = 0;

  // moved(frame, settled)
  constructor(place, moved) {
    this.place = place;
    this.moved = moved;
    const turn = () => (this.#timer ? this.pause() : this.#play());
    this.button = make("button", { type: "button", onclick: turn }, "Play");
    this.slider = make("input", { type: "range", min: 0, step: 1, "aria-label": "frame" });
    this.slider.addEventListener("input", () => this.#go(Number(this.slider.value), false));
    this.slider.addEventListener("change", () => this.#go(Number(this.slider.value), true));
    this.label = make("output", {});
    place.replaceChildren(this.button, this.slider, this.label);
  }

  show(frames, at) {
    this.#frames = frames;
    this.place.hidden = !frames.length;
    if (!frames.length) return this.pause();
    this.#at = Math.min(at, frames.length - 1);
    this.slider.max = frames.length - 1;
    this.slider.value = this.#at;
    this.slider.setAttribute("aria-valuetext", frames[this.#at].label);
    say(this.label, frames[this.#at].label);
  }

  pause() {
    clearInterval(this.#timer);
    this.#timer = 0;
    say(this.button, "Play");
  }

  #play() {
    const last = this.#frames.length - 1;
    if (this.#at === last) this.moved(0, false);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#timer = setInterval(() => this.#step(), calm ? CALM : PACE);
    say(this.button, "Pause");
  }

  #step() {
    if (this.#at + 1 >= this.#frames.length) {
      this.pause();
      return this.moved(this.#at, true);
    }
    this.moved(this.#at + 1, false);
  }

  #go(frame, settled) {
    this.pause();
    this.moved(frame, settled);
  }
}

// Return a picture at one of its frames.
export function at(picture, frame) {
  if (!picture?.frames?.length) return picture;
  const now = picture.frames[Math.min(frame, picture.frames.length - 1)];
  const panels = picture.panels.map((panel) => framed(panel, now));
  return { ...picture, panels, numbers: now.numbers ?? picture.numbers };
}

// Curves of a frame replace the curves of equal name; the others stay.
export function framed(panel, frame) {
  const news = new Map((frame.traces[panel.name] ?? []).map((trace) => [trace.name, trace]));
  const stay = panel.traces.map((trace) => news.get(trace.name) ?? trace);
  const old = new Set(panel.traces.map((trace) => trace.name));
  return { ...panel, traces: [...stay, ...[...news.values()].filter((trace) => !old.has(trace.name))] };
}
