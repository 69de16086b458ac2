import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { createLineLog } from './line-log.ts';

function collect() {
  const lines: string[] = [];
  let time = 0;
  const log = createLineLog({ ...systemClock, now: () => time }, (line) => lines.push(line));
  return {
    lines,
    log,
    pass: (ms: number) => {
      time += ms;
    },
  };
}

describe('createLineLog', () => {
  it('joins partial lines and omits blank ones', () => {
    const { lines, log } = collect();
    for (const piece of ['he', 'llo\r\n\n  \nwor', 'ld\n', 'end']) log.push(piece);
    assert.deepEqual(lines, ['hello', 'world']);
    log.end();
    assert.deepEqual(lines, ['hello', 'world', 'end']);
  });

  it('cuts long lines, including one that never ends', () => {
    const { lines, log } = collect();
    log.push(`${'a'.repeat(5000)}\n`);
    for (let i = 0; i < 100; i += 1) log.push('b'.repeat(1000));
    log.end();
    assert.deepEqual(lines, ['a'.repeat(2000), 'b'.repeat(2000)]);
  });

  it('writes at most 50 lines in 10 s and counts the others', () => {
    const { lines, log, pass } = collect();
    log.push('x\n'.repeat(80));
    assert.equal(lines.length, 50);
    pass(10_000);
    log.push('y\n');
    assert.deepEqual(lines.slice(50), ['(30 lines left out)', 'y']);
    log.push('z\n'.repeat(60));
    log.end();
    assert.equal(lines.at(-1), '(11 lines left out)');
  });
});
