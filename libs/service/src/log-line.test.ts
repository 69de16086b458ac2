import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Logger, pino } from 'pino';
import { writeLinesAtOnce } from './log-line.ts';

/** A logger as pino makes it, and one that writes lines at once; what one writes, the other must write. */
function twins() {
  const make = () => {
    const lines: string[] = [];
    const stream = { write: (line: string): void => void lines.push(line) };
    const options = {
      base: { name: 'neo' },
      timestamp: () => ',"time":"now"',
      formatters: { level: (level: string) => ({ level }) },
      serializers: { err: pino.stdSerializers.err },
    };
    return { log: pino(options, stream), lines };
  };
  const [own, expected] = [make(), make()];
  writeLinesAtOnce(own.log);
  return {
    same(write: (log: Logger) => void): void {
      write(own.log);
      write(expected.log);
      assert.equal(expected.lines.length, own.lines.length);
      assert.deepEqual(own.lines.splice(0), expected.lines.splice(0));
    },
  };
}

const cycle: Record<string, unknown> = { name: 'a' };
cycle.self = cycle;

test('a line is the one that pino writes', () => {
  const { same } = twins();
  const failure = new Error('broken', { cause: new Error('deeper') });
  const rows: [object, string | undefined][] = [
    [{}, 'hello'],
    [{ task_id: 't-1', status: 200, took: 1.5, ok: true, none: null }, 'hello'],
    [{ absent: undefined, method: () => 1, symbol: Symbol('x'), nan: Number.NaN }, 'hello'],
    [{ text: 'quote " back \\ line \n tab \t nul \u0000 lone \ud800 ä 漢' }, 'line \n " \\'],
    [{ long: '"\n'.repeat(200), 'a "key"\n': 1 }, 'x'.repeat(300)],
    [{ deep: { a: [1, undefined, { b: 'c' }], when: new Date(0) } }, 'hello'],
    [{ big: 1n, after: 1 }, 'hello'],
    [{ cycle, after: 1 }, 'hello'],
    [{ err: failure, code: 'INTERNAL' }, 'hello'],
    [{ cause: failure }, 'hello'],
    [{ err: failure }, undefined],
    [{ msg: 'its own' }, undefined],
    [{ only: 'fields' }, undefined],
    [failure, undefined],
    [failure, 'hello'],
  ];
  for (const [fields, message] of rows) same((log) => log.info(fields, message));
  for (const level of ['warn', 'error', 'fatal'] as const) same((log) => log[level]({ a: 1 }, 'hello'));
  same((log) => log.info('only text'));
  same((log) => log.info('%s and %d', 'one', 2));
});

test('a line of a child is the one that pino writes', () => {
  const { same } = twins();
  same((log) => log.child({ request_id: 'r-1' }).info({ a: 1 }, 'hello'));
  same((log) => log.child({ a: 1 }).child({ b: 2 }).warn({ c: 3 }, 'hello'));
  same((log) => log.child({}, { serializers: { secret: () => 'hidden' } }).info({ secret: 'x' }, 'hello'));
  same((log) => log.child({}, { level: 'error' }).info({ a: 1 }, 'hello'));
});

test('a logger of another kind is refused', () => {
  const log = pino();
  Object.assign(log, { [pino.symbols.chindingsSym]: undefined });
  assert.throws(() => writeLinesAtOnce(log), TypeError);
});
