import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { interpretBpf } from '../../../testing/interpret-bpf.ts';
import { assembleFilter } from './assemble.ts';
import { filterFile, findFilter } from './filter.ts';
import { type Condition, ERRNO, RULES } from './rules.ts';
import { type Arch, AUDIT_ARCH, NEWEST, numberOf, SYSTEM_CALLS, type SystemCall } from './system-calls.ts';

const ARCHES = Object.keys(AUDIT_ARCH) as Arch[];
const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const error = (number: number): number => 0x0005_0000 | number;

/** Where Debian's linux-libc-dev has the numbers. */
const HEADERS: Readonly<Record<Arch, string>> = {
  x64: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
  arm64: '/usr/include/asm-generic/unistd.h',
};

const holds = (condition: Condition, values: readonly number[]): boolean => {
  const value = ((values[condition.argument] ?? 0) & (condition.mask ?? ~0)) >>> 0;
  return 'is' in condition ? condition.is.includes(value) : !condition.not.includes(value);
};

/** What the rules say of a call, read one by one. */
function verdict(number: number, values: readonly number[], arch: Arch): number {
  if (number > NEWEST) return error(ERRNO.ENOSYS);
  const rule = RULES.find(
    ({ call, when = [] }) => numberOf(call, arch) === number && when.every((each) => holds(each, values)),
  );
  return rule ? error(ERRNO[rule.answer]) : ALLOW;
}

/** Numbers that the conditions name, and others. */
const anArgument = fc.oneof(
  fc.constantFrom(0, 1, 2, 3, 10, 16, 38, 40, 0x5412, 0x541c, 0x80, 0x1000_0000, 0x8_0002),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);

for (const arch of ARCHES)
  describe(`the filter for ${arch}`, () => {
    const program = readFileSync(filterFile(arch));
    const judge = (number: number, ...values: number[]): number =>
      interpretBpf(program, {
        number,
        arch: AUDIT_ARCH[arch],
        arguments: [...values, 0, 0, 0, 0, 0, 0].slice(0, 6),
      });

    it('is what the rules say: else run generate.ts', () => {
      assert.ok(program.equals(assembleFilter(arch)));
    });

    it('decides each call as its rules do, one by one', () => {
      const named = SYSTEM_CALLS.flatMap((call) => numberOf(call, arch) ?? []);
      const aNumber = fc.oneof(fc.constantFrom(...named), fc.integer({ min: 0, max: NEWEST + 40 }));
      fc.assert(
        fc.property(aNumber, fc.array(anArgument, { minLength: 6, maxLength: 6 }), (number, values) => {
          assert.equal(judge(number, ...values), verdict(number, values, arch));
        }),
        { numRuns: 3000 },
      );
    });

    it('names the calls by the numbers of the kernel', { skip: !existsSync(HEADERS[arch]) }, () => {
      const header = readFileSync(HEADERS[arch], 'utf8');
      const known = new Map(
        [...header.matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)/gm)].map(([, name, number]) => [
          name,
          Number(number),
        ]),
      );
      const compared = SYSTEM_CALLS.filter((call) => known.has(call));
      assert.ok(compared.length > 50, `${compared.length}`);
      for (const call of compared) assert.equal(numberOf(call, arch), known.get(call), call);
    });

    it('ends a process that calls as another architecture does', () => {
      for (const other of [
        0x4000_0003,
        ...ARCHES.filter((each) => each !== arch).map((each) => AUDIT_ARCH[each]),
      ])
        assert.equal(interpretBpf(program, { number: 0, arch: other, arguments: [] }), KILL_PROCESS);
    });

    const CLONE_THREAD = 0x3d_0f00;
    const FORK = 0x120_0011;
    const rows: [what: string, call: SystemCall, values: number[], expected: number][] = [
      ['a keyring', 'keyctl', [], error(1)],
      ['a fork', 'clone', [FORK], ALLOW],
      ['a thread', 'clone', [CLONE_THREAD], ALLOW],
      ['a child in a user namespace', 'clone', [FORK | 0x1000_0000], error(1)],
      ['a child in a network namespace', 'clone', [0x4000_0000], error(1)],
      ['clone3, which the C library does without', 'clone3', [], error(38)],
      ['a file table of its own', 'unshare', [0x400], ALLOW],
      ['a namespace of time', 'unshare', [0x80], error(1)],
      ['io_uring', 'io_uring_setup', [1], error(1)],
      ['the size of a terminal', 'ioctl', [0, 0x5413], ALLOW],
      ['text for a terminal', 'ioctl', [0, 0x5412], error(1)],
      ['a Unix socket', 'socket', [1, 0x8_0001], ALLOW],
      ['TCP', 'socket', [2, 1], ALLOW],
      ['UDP over IPv6', 'socket', [10, 0x8_0802], ALLOW],
      ['the addresses of the machine', 'socket', [16, 0x8_0003, 0], ALLOW],
      ['a raw socket', 'socket', [2, 0x8_0003, 1], error(1)],
      ['packets', 'socket', [17, 3], error(97)],
      ['the machine below', 'socket', [40, 1], error(97)],
    ];
    for (const [what, call, values, expected] of rows)
      it(`${what}: ${expected === ALLOW ? 'allowed' : 'refused'}`, () => {
        assert.equal(judge(numberOf(call, arch) ?? Number.NaN, ...values), expected);
      });

    it('knows no call newer than it', () => {
      assert.equal(judge(NEWEST), ALLOW);
      for (const number of [NEWEST + 1, 0x4000_0000, 0xffff_ffff]) assert.equal(judge(number), error(38));
    });
  });

test('a machine without a filter is named: its architecture, or its kernel', (t) => {
  const actions = join(tempDir(t), 'actions_avail');
  assert.deepEqual(findFilter('x64', actions), { missing: 'this kernel has no seccomp filters' });
  writeFileSync(actions, 'kill_process kill_thread trap errno user_notif trace log allow\n');
  assert.deepEqual(findFilter('x64', actions), { file: filterFile('x64') });
  assert.deepEqual(findFilter('s390x', actions), { missing: 'there is no filter for s390x' });
});
