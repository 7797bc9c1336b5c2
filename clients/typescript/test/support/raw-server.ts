import { createServer, type Server, type Socket } from "node:net";
import { afterEach } from "vitest";

/** One request as it came, and the connection to answer it on: byte by byte, if need be. */
export class Exchange {
  isClosed = false;
  readonly closed: Promise<void>;

  constructor(
    readonly socket: Socket,
    readonly head: string,
    readonly body: string,
  ) {
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.isClosed = true;
        resolve();
      });
    });
  }

  get method(): string {
    return this.head.split(" ")[0] as string;
  }

  get path(): string {
    return this.head.split(" ")[1] as string;
  }

  header(name: string): string | null {
    const line = this.head.split("\r\n").find((text) => text.toLowerCase().startsWith(`${name.toLowerCase()}:`));
    return line === undefined ? null : line.slice(name.length + 1).trim();
  }

  /** Sends bytes as they are. */
  write(data: string | Uint8Array): this {
    if (!this.socket.destroyed) this.socket.write(data);
    return this;
  }

  /** Sends the head of an answer whose body ends with the connection. */
  start(headers: Record<string, string> = {}, status = "200 OK", type = "text/event-stream"): this {
    const lines = Object.entries({
      "Content-Type": type,
      "X-Request-Id": "req_server",
      Connection: "close",
      ...headers,
    });
    return this.write(`HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  }

  /** Sends the head of an answer in chunks, so that a connection that breaks is seen to break. */
  startChunked(headers: Record<string, string> = {}): this {
    return this.start({ "Transfer-Encoding": "chunked", ...headers });
  }

  chunk(data: string | Uint8Array): this {
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data);
    return this.write(Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]));
  }

  /** Ends the body properly. */
  end(data: string | Uint8Array = ""): void {
    this.write(data);
    this.socket.end();
  }

  endChunks(): void {
    this.end("0\r\n\r\n");
  }

  /** Breaks the connection. */
  destroy(): void {
    this.socket.resetAndDestroy();
  }
}

type Handler = (exchange: Exchange) => unknown;

/** A server of raw bytes: a handler for each request, the last one for all that follow. */
export class RawServer {
  readonly exchanges: Exchange[] = [];
  #server: Server;
  #sockets = new Set<Socket>();

  constructor(private readonly handlers: Handler[]) {
    this.#server = createServer((socket) => this.#connect(socket));
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  get url(): string {
    return `${this.origin}/chat`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Waits until so many requests have come. */
  async requests(count: number): Promise<Exchange[]> {
    await until(() => this.exchanges.length >= count);
    return this.exchanges;
  }

  #connect(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = text.slice(0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      const body = Buffer.from(text.slice(end + 4), "latin1").toString();
      text = "";
      const exchange = new Exchange(socket, head, body);
      this.exchanges.push(exchange);
      const handler = this.handlers[Math.min(this.exchanges.length, this.handlers.length) - 1] as Handler;
      if (/^OPTIONS /.test(head)) return;
      void handler(exchange);
    });
  }
}

const servers: RawServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** Starts a server for one test. */
export async function serve(...handlers: Handler[]): Promise<RawServer> {
  const server = await new RawServer(handlers).listen();
  servers.push(server);
  return server;
}

/** Waits until something holds; fails after half a minute, which a busy machine keeps. */
export async function until(holds: () => boolean, most = 30_000): Promise<void> {
  const end = performance.now() + most;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`waited in vain for ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
