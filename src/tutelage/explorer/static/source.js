// Sources of pictures: the server, or the table of an exported page. Both have the same methods.
import { applying, nearest } from "./parameters.js";

export class Failure extends Error {
  constructor(text, parameter = null, status = 0) {
    super(text);
    this.parameter = parameter;
    this.status = status;
  }
}

export class Cancelled extends Error {}

export function source() {
  const block = document.getElementById("data");
  return block ? new Table(JSON.parse(block.textContent)) : new Server();
}

class Server {
  offline = false;
  #client = Math.random().toString(36).slice(2);

  async views() {
    return (await answer("/api/views")).views;
  }

  async papers() {
    return answer("/api/papers");
  }

  async files(view) {
    const { files } = await answer("/api/files");
    return files.filter((file) => file.view === view.name);
  }

  picture(view, state, { slot, part, number, signal }) {
    const more = part ? { slot, number, part } : { slot, number };
    return answer(`/api/picture?${this.#words(view, state, more)}`, { signal });
  }

  progress(slot) {
    return answer(`/api/progress?${new URLSearchParams({ client: this.#client, slot })}`);
  }

  async stop(slot) {
    const words = new URLSearchParams({ client: this.#client, slot });
    await fetch(`/api/stop?${words}`, { method: "POST" }).catch(() => null);
  }

  runs(view, state, slot) {
    return `/api/runs?${this.#words(view, state, { slot })}`;
  }

  data(view, state, format) {
    return `/api/data?${this.#words(view, state, { format })}`;
  }

  #words(view, state, more) {
    const words = new URLSearchParams({ view: view.name, client: this.#client, ...more });
    if (more.format) words.delete("client");
    for (const p of applying(view, state)) words.set(p.name, state[p.name]);
    return words;
  }
}

async function answer(address, options = {}) {
  let reply;
  try {
    reply = await fetch(address, options);
  } catch (problem) {
    if (problem.name === "AbortError") throw new Cancelled();
    throw new Failure("The server does not answer. Is tutelage explore still running?");
  }
  const body = await reply.json().catch((problem) => {
    if (problem.name === "AbortError") throw new Cancelled();
    throw new Failure(`The server answered ${reply.status} without a message.`);
  });
  if (body.cancelled) throw new Cancelled();
  const words = body.error ?? `The server answered ${reply.status}.`;
  if (!reply.ok) throw new Failure(words, body.parameter, reply.status);
  return body;
}

// A grid of precomputed pictures: {views, grids: {view: {over: {name: values}, pictures}}}.
class Table {
  offline = true;
  #data;

  constructor(data) {
    this.#data = data;
    this.note = data.note ?? "";
  }

  async views() {
    const none = { streams: false, details: false };
    return this.#data.views.map((view) => ({ ...view, ...none, parameters: this.#parameters(view) }));
  }

  async papers() {
    return this.#data.papers ?? { figures: [] };
  }

  async files() {
    return [];
  }

  async picture(view, state) {
    const { over, pictures } = this.#data.grids[view.name];
    let place = 0;
    const moved = [];
    for (const [name, values] of Object.entries(over)) {
      const at = nearest(values, state[name]);
      place = place * values.length + at;
      if (values[at] !== state[name]) moved.push(`${name} = ${values[at]} instead of ${state[name]}`);
    }
    const picture = pictures[place];
    const said = moved.length ? [`The nearest computed point: ${moved.join(", ")}.`] : [];
    return { ...picture, messages: [...said, ...picture.messages] };
  }

  async progress() {
    return { message: "" };
  }

  async stop() {}

  #parameters(view) {
    const over = this.#data.grids[view.name]?.over ?? {};
    return view.parameters.filter((p) => p.name in over).map((p) => ({ ...p, values: over[p.name] }));
  }
}
