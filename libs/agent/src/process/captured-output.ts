/** What a stream printed, bounded: the first and the last half of `limitBytes`, and how much there was in all. */
export class CapturedOutput {
  readonly #half: number;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  #total = 0;

  constructor(limitBytes: number) {
    this.#half = Math.floor(limitBytes / 2);
  }

  get totalBytes(): number {
    return this.#total;
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = room > 0 ? chunk.subarray(room) : chunk;
    if (rest.length === 0) return;
    this.#tail = Buffer.concat([this.#tail, rest.subarray(-this.#half)]).subarray(-this.#half);
  }

  text(): string {
    const dropped = this.#total - this.#head.length - this.#tail.length;
    if (dropped === 0) return Buffer.concat([this.#head, this.#tail]).toString('utf8');
    return `${this.#head.toString('utf8')}\n[… ${dropped} bytes left out …]\n${this.#tail.toString('utf8')}`;
  }
}
