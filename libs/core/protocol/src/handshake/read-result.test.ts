import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { readResult } from './read-result.ts';
import { decodeResult, encodeResult } from './result.ts';

const fixture = (name: string): JsonObject => {
  const url = new URL(`../../fixtures/${name}.json`, import.meta.url);
  const value: unknown = JSON.parse(readFileSync(url, 'utf8'));
  return isJsonObject(value) ? value : assert.fail();
};
const maximal = fixture('2.0/task-result.maximal');
const ESSENTIAL = ['type', 'protocol_version', 'task_id', 'status', 'tokens_spent'];
const usage = { input_tokens: 2, output_tokens: 1, model: 'm', source: 'metered' };
const command = { kind: 'command', detail: 'npm test' };
const without = (key: string) => {
  const { [key]: _, ...rest } = maximal;
  return rest;
};

describe('a TASK_RESULT of a peer', () => {
  const ROWS: [what: string, wire: JsonObject, dropped: string[], expected: JsonObject][] = [
    [
      'usage without a model',
      { usage: { input_tokens: 2, output_tokens: 1, source: 'metered' } },
      ['usage.model'],
      { usage: { ...usage, model: 'unknown' } },
    ],
    ['usage without a count', { usage: { output_tokens: 1, model: 'm', source: 'metered' } }, ['usage'], {}],
    [
      'usage with a bad optional count',
      { usage: { ...usage, cache_read_tokens: -1 } },
      ['usage.cache_read_tokens'],
      { usage },
    ],
    [
      'an unknown source',
      { usage: { ...usage, source: 'guessed' } },
      ['usage.source'],
      { usage: { ...usage, source: 'reported' } },
    ],
    ['a negative duration', { duration_ms: -5 }, ['duration_ms'], {}],
    ['an error as text', { error: 'it broke' }, ['error'], {}],
    [
      'an error without a code',
      { error: { message: 'it broke' } },
      ['error.code', 'error.retryable'],
      { error: { message: 'it broke', code: 'peer_failed', retryable: false } },
    ],
    [
      'artifacts without files',
      { artifacts: { pr: 'https://x.example/1', y: 1 } },
      ['artifacts.files_changed'],
      { artifacts: { pr: 'https://x.example/1', y: 1, files_changed: [] } },
    ],
    ['artifacts that are a list', { artifacts: [] }, ['artifacts'], { artifacts: { files_changed: [] } }],
    [
      'an entry that is no text',
      { next_steps: ['a', 1, 'b', null] },
      ['next_steps[1]', 'next_steps[3]'],
      { next_steps: ['a', 'b'] },
    ],
    [
      'an entry without its kind',
      { evidence: [{ ...command, kind: 'x' }, { ...command, exit_code: '0' }, command] },
      ['evidence[0]', 'evidence[1].exit_code'],
      { evidence: [command, command] },
    ],
    ['a reason without a block', { blocked_reason: 'why' }, ['blocked_reason'], { blocked_reason: null }],
    [
      'a block without a reason',
      { status: 'blocked', tokens_spent: 0 },
      ['blocked_reason'],
      { status: 'blocked', tokens_spent: 0, blocked_reason: 'the peer gave no valid reason' },
    ],
    [
      'a block with a reason that is no text',
      { status: 'blocked', blocked_reason: 7 },
      ['blocked_reason'],
      { status: 'blocked', blocked_reason: 'the peer gave no valid reason' },
    ],
    ['too many entries', { remaining: Array.from({ length: 10_001 }, () => 'x') }, ['remaining'], {}],
  ];
  for (const [what, wire, dropped, expected] of ROWS)
    it(`with ${what} is kept without it`, () => {
      const { status, tokens_spent, output, text } = maximal;
      const base = {
        ...Object.fromEntries(Object.entries(maximal).filter(([key]) => ESSENTIAL.includes(key))),
        next_steps: [],
        blocked_reason: null,
        artifacts: { files_changed: [] },
        output,
        text,
        status,
        tokens_spent,
      };
      const read = readResult({ ...base, ...wire });
      assert.deepEqual(read.dropped, dropped);
      assert.deepEqual(encodeResult(read.result), { ...base, ...expected });
    });

  it('without a field is kept', () => {
    for (const key of Object.keys(maximal).filter((name) => !ESSENTIAL.includes(name))) {
      const { result, dropped } = readResult(without(key));
      assert.deepEqual([result.status, result.tokensSpent], ['partial', 3240], key);
      const needed = ['next_steps', 'blocked_reason', 'artifacts'].includes(key);
      assert.deepEqual(dropped, needed ? [key] : [], key);
    }
  });

  for (const key of ESSENTIAL)
    it(`is refused without a valid ${key}, with every invalid field`, () => {
      for (const wire of [without(key), { ...maximal, [key]: null }])
        assert.throws(() => readResult({ ...wire, duration_ms: -1 }), {
          code: 'INVALID_PARAMS',
          message: new RegExp(`${key}: .*duration_ms: `),
        });
    });

  it('that is no object is refused', () => {
    for (const wire of [null, 'done', [], 7])
      assert.throws(() => readResult(wire), { code: 'INVALID_PARAMS' });
  });

  it('of a newer minor version keeps its unknown words', () => {
    const wire: JsonObject = {
      ...maximal,
      protocol_version: '2.1',
      unmet: [{ kind: 'weather', name: 'x', detail: 'y', transient: true }],
    };
    assert.deepEqual(readResult(wire), { result: decodeResult(wire), dropped: [] });
    const read = readResult({ ...wire, duration_ms: 'long' });
    assert.deepEqual(read.dropped, ['duration_ms']);
    const { duration_ms: _, ...rest } = wire;
    assert.deepEqual(encodeResult(read.result), rest);
  });

  it('keeps every valid field, whatever the others are', () => {
    const places = placesIn(maximal).filter(
      ([top, ...below]) => !(below.length === 0 && ESSENTIAL.includes(String(top))),
    );
    const change = fc.record({
      path: fc.constantFrom(...places),
      value: fc.option(fc.jsonValue(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 12 }), (changes) => {
        const wire = structuredClone(maximal);
        for (const { path, value } of changes) put(wire, path, value);
        const { result, dropped } = readResult(wire);
        const kept = encodeResult(result);
        assert.deepEqual(encodeResult(decodeResult(kept)), kept, 'what is kept is valid');
        assert.equal(dropped.length === 0, isValid(wire), dropped.join());
        const spoiled = new Set(dropped.map((path) => path.split(/[.[]/)[0]));
        for (const [key, value] of Object.entries(wire))
          if (!spoiled.has(key)) assert.deepEqual(kept[key], value, key);
      }),
    );
  });
});

function isValid(wire: unknown): boolean {
  try {
    decodeResult(wire);
    return true;
  } catch {
    return false;
  }
}

/** Every place in a value, except those inside unknown fields. */
function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys.flatMap((key) => {
    const at = [...path, key];
    return [at, ...placesIn(Object.entries(value).find(([name]) => name === String(key))?.[1], at)];
  });
}

/** Changes or deletes a place, unless an earlier change has removed it. */
function put(value: unknown, [key, ...rest]: readonly (string | number)[], to: unknown): void {
  if (typeof value !== 'object' || value === null || key === undefined) return;
  if (rest.length > 0) put(Reflect.get(value, key), rest, to);
  else if (to === undefined && !Array.isArray(value)) Reflect.deleteProperty(value, key);
  else Reflect.set(value, key, to ?? null);
}
