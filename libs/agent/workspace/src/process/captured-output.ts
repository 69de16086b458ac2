import { RecentOutput } from './recent-output.ts';

/** Bounded output of a stream: its first and last bytes, half of `limitBytes` each, and the total length. */
export class CapturedOutput {
  readonly #half: number;
  /** Gets no more than it keeps. */
  readonly #head: RecentOutput;
  readonly #tail: RecentOutput;

  constructor(limitBytes: number) {
    this.#half = Math.floor(limitBytes / 2);
    this.#head = new RecentOutput(this.#half);
    this.#tail = new RecentOutput(this.#half);
  }

  get totalBytes(): number {
    return this.#head.totalBytes + this.#tail.totalBytes;
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#head.totalBytes;
    if (room > 0) this.#head.push(chunk.subarray(0, room));
    if (chunk.length > room) this.#tail.push(chunk.subarray(room));
  }

  text(): string {
    const [head, tail] = [this.#head.kept(), this.#tail.kept()];
    const dropped = this.totalBytes - head.length - tail.length;
    if (dropped === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n[… ${dropped} bytes left out …]\n${tail.toString('utf8')}`;
  }
}
