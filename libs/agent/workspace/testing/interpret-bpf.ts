/** What a filter of system calls sees: `struct seccomp_data`, without the instruction pointer. */
export interface SystemCallData {
  readonly number: number;
  readonly arch: number;
  readonly arguments: readonly number[];
}

const INSTRUCTION_BYTES = 8;

/**
 * Runs a classic BPF program as the kernel does for seccomp(2), and returns its verdict. Throws on an instruction that the
 * filters do not use, and where the kernel would refuse the program: a jump behind its end, or no verdict.
 */
export function interpretBpf(program: Buffer, data: SystemCallData): number {
  const words = [data.number, data.arch, 0, 0, ...data.arguments.flatMap((value) => [value, 0])];
  let accumulator = 0;
  for (let at = 0; ; ) {
    if (at + INSTRUCTION_BYTES > program.length) throw new Error('the program ends without a verdict');
    const value = program.readUInt32LE(at + 4);
    const jump = (holds: boolean): number => program.readUInt8(at + (holds ? 2 : 3)) * INSTRUCTION_BYTES;
    const code = program.readUInt16LE(at);
    if (code === 0x06) return value;
    if (code === 0x20) {
      const word = value % 4 === 0 ? words[value / 4] : undefined;
      if (word === undefined) throw new Error(`a load from ${value}`);
      accumulator = word >>> 0;
    } else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x25) at += jump(accumulator > value);
    else throw new Error(`an unknown instruction ${code}`);
    at += INSTRUCTION_BYTES;
  }
}
