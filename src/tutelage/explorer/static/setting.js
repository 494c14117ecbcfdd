// One of the two settings: its picture, slower details, and runs on top of it.
import { Requests } from "./requests.js";
import { follow } from "./stream.js";

const STILL = 600; // ms without a change before details are asked for
const STOPPED = { message: "Stopped. Move a control to draw again.", parameter: null };

export class Setting {
  picture = null;
  details = null; // panels, numbers and marks that take longer
  stale = false; // the details are of a setting before this one
  failure = null; // of the last request
  running = null; // of the runs: {message, done, of}
  overlay = new Map(); // panel -> name -> trace
  version = 0; // of what is to be drawn
  #close = null;
  #later = 0;

  // arrived(setting): a picture has come; changed(): there is something to draw.
  constructor(slot, source, arrived, changed) {
    Object.assign(this, { slot, source, changed });
    this.quick = new Requests(slot, source, {
      arrived: (picture) => {
        Object.assign(this, { picture, failure: null, running: null, stale: true, overlay: new Map() });
        this.version += 1;
        this.#later = setTimeout(() => this.#askDetails(), STILL);
        arrived(this);
      },
      failed: (problem) => (this.failure = problem),
      changed,
    });
    this.slow = new Requests(`${slot}.details`, source, {
      arrived: (details) => this.#have(details),
      failed: ({ message }) => this.#have({ panels: [], numbers: [], messages: [message] }),
      changed,
    });
  }

  get waiting() {
    return this.quick.waiting ?? this.slow.waiting;
  }

  ask(view, state) {
    Object.assign(this, { view, state });
    clearTimeout(this.#later);
    this.slow.drop();
    this.halt();
    this.quick.ask(view, state);
  }

  stop() {
    if (this.quick.busy) this.failure = STOPPED;
    for (const requests of [this.quick, this.slow]) if (requests.busy) requests.stop();
  }

  run() {
    this.halt();
    this.overlay = new Map();
    this.version += 1;
    const tell = (running) => {
      this.running = running;
      this.changed();
    };
    tell({ message: "starting" });
    this.#close = follow(this.source.runs(this.view, this.state(), `${this.slot}.runs`), {
      progress: tell,
      traces: ({ panel, traces }) => this.#put(panel, traces),
      done: ({ message, python }) => tell({ message, python, ended: true }),
      failed: ({ error }) => tell({ message: error, ended: true, failed: true }),
    });
  }

  // The runs end; what they have drawn stays.
  halt() {
    this.#close?.();
    this.#close = null;
    if (this.running && !this.running.ended) this.running = { message: "Stopped.", ended: true };
  }

  leave() {
    clearTimeout(this.#later);
    this.halt();
    this.quick.drop();
    this.slow.drop();
  }

  // The picture with all that belongs to it.
  seen() {
    if (!this.picture) return null;
    const more = this.details ?? { panels: [], numbers: [], messages: [] };
    const marks = this.stale ? {} : more.panel_marks ?? {};
    const panels = this.picture.panels.map((panel) => ({
      ...panel,
      marks: [...(panel.marks ?? []), ...(marks[panel.name] ?? [])],
      own: panel.traces,
      traces: [...panel.traces, ...(this.overlay.get(panel.name)?.values() ?? [])],
    }));
    const later = more.panels.map((panel) => ({ ...panel, stale: this.stale }));
    const now = this.stale ? { numbers: [], messages: [] } : more;
    return {
      ...this.picture,
      panels: [...panels, ...later],
      numbers: [...this.picture.numbers, ...now.numbers],
      messages: [...this.picture.messages, ...now.messages],
      python: this.running?.python ?? this.picture.python, // with the networks that are drawn
      slider_marks: { ...this.picture.slider_marks, ...now.slider_marks },
    };
  }

  #have(details) {
    Object.assign(this, { details, stale: false });
    this.version += 1;
  }

  #askDetails() {
    if (this.view.details) this.slow.ask(this.view, this.state, "details");
  }

  #put(panel, traces) {
    const drawn = this.overlay.get(panel) ?? new Map();
    for (const trace of traces) drawn.set(trace.name, trace);
    this.overlay.set(panel, drawn);
    this.version += 1;
    this.changed();
  }
}
