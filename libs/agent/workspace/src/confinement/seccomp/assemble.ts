import { type Condition, ERRNO, type Errno, RULES, type Rule } from './rules.ts';
import { type Arch, AUDIT_ARCH, NEWEST, numberOf } from './system-calls.ts';

/** An instruction of classic BPF (linux/bpf_common.h); a jump skips so many of the next ones. */
interface Instruction {
  readonly code: number;
  readonly ifTrue?: number;
  readonly ifFalse?: number;
  readonly value: number;
}

const INSTRUCTION_BYTES = 8;
/** Loads a word of `struct seccomp_data` at an offset; masks it; compares it; ends. */
const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_GREATER = 0x25;
const RETURN = 0x06;

const NUMBER_AT = 0;
const ARCH_AT = 4;
const ARGUMENTS_AT = 16;
const ARGUMENT_BYTES = 8;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const ERROR = 0x0005_0000;

const end = (value: number): Instruction => ({ code: RETURN, value });
const answer = (errno: Errno): Instruction => end(ERROR | ERRNO[errno]);
const load = (at: number): Instruction => ({ code: LOAD, value: at });

/**
 * The filter of confined commands for an architecture: a program for seccomp(2), eight bytes for each instruction, in the byte
 * order that both architectures have. It ends a process that calls the kernel as another architecture does.
 */
export function assembleFilter(arch: Arch): Buffer {
  const program = [
    load(ARCH_AT),
    { code: JUMP_IF_EQUAL, ifTrue: 1, value: AUDIT_ARCH[arch] },
    end(KILL_PROCESS),
    load(NUMBER_AT),
    { code: JUMP_IF_GREATER, ifFalse: 1, value: NEWEST },
    answer('ENOSYS'),
    ...byCall(RULES).flatMap((rules) => refusals(rules, arch)),
    end(ALLOW),
  ];
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [index, { code, ifTrue = 0, ifFalse = 0, value }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value >>> 0, at + 4);
  }
  return bytes;
}

const byCall = (rules: readonly Rule[]): (readonly Rule[])[] =>
  Object.values(Object.groupBy(rules, ({ call }) => call)).map((group = []) => group);

/** The rules of one call. With conditions, they load arguments, so they end the program also for a call that is allowed. */
function refusals(rules: readonly Rule[], arch: Arch): Instruction[] {
  const [first] = rules;
  const number = first && numberOf(first.call, arch);
  if (number === undefined) return [];
  const conditional = rules.some(({ when }) => when !== undefined);
  const body = [
    ...rules.flatMap(({ answer: errno, when = [] }) => guarded(when, [answer(errno)])),
    ...(conditional ? [end(ALLOW)] : []),
  ];
  return [{ code: JUMP_IF_EQUAL, ifFalse: body.length, value: number }, ...body];
}

/** Runs `body`, which ends the program, when all conditions hold; else goes on behind it. */
function guarded(
  [condition, ...others]: readonly Condition[],
  body: readonly Instruction[],
): readonly Instruction[] {
  if (condition === undefined) return body;
  const inner = guarded(others, body);
  const wanted = 'is' in condition;
  const values = wanted ? condition.is : condition.not;
  const compares = values.map((value, index): Instruction => {
    const left = values.length - 1 - index;
    // A value that fits skips the other comparisons; the last comparison decides for all that do not.
    const ifTrue = wanted ? left : left + inner.length;
    const ifFalse = wanted && left === 0 ? inner.length : 0;
    return { code: JUMP_IF_EQUAL, ifTrue, ifFalse, value };
  });
  const mask = condition.mask === undefined ? [] : [{ code: AND, value: condition.mask }];
  return [load(ARGUMENTS_AT + condition.argument * ARGUMENT_BYTES), ...mask, ...compares, ...inner];
}
