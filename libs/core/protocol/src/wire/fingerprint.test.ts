import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dispatchFingerprint, fingerprint } from './fingerprint.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';

const sha256 = (canonical: string): string => createHash('sha256').update(canonical, 'utf8').digest('hex');

describe('fingerprint, by the vectors of RFC 8785', () => {
  it('section 3.2.2: literals, numbers and strings', () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    const canonical = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
    assert.equal(fingerprint(JSON.parse(input)), sha256(canonical));
  });

  it('section 3.2.3: keys sorted by UTF-16 code units', () => {
    const input = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    const canonical =
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
      '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}';
    assert.equal(fingerprint(input), sha256(canonical));
  });

  for (const [bits, text] of [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ] as const) {
    it(`appendix B: ${bits} is ${text}`, () => {
      const n = Buffer.from(bits, 'hex').readDoubleBE();
      assert.equal(fingerprint({ n }), sha256(`{"n":${text}}`));
    });
  }

  for (const [name, text] of [
    ['a number that exceeds a double', '{"n": 1e999}'],
    ['a lone surrogate', String.raw`{"s": "\ud800"}`],
    ['a lone surrogate in a key', String.raw`{"\udfff": 1}`],
  ] as const) {
    it(`rejects ${name} as invalid parameters`, () => {
      assert.throws(() => fingerprint(JSON.parse(text)), { code: 'INVALID_PARAMS' });
    });
  }
});

function shuffled(value: unknown, order: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, shuffled(item, order)] as const);
  return Object.fromEntries(
    entries
      .map((e) => [order(), e] as const)
      .sort(([a], [b]) => a - b)
      .map(([, e]) => e),
  );
}

describe('dispatchFingerprint', () => {
  const read = (): JsonObject =>
    JSON.parse(
      readFileSync(new URL('../../fixtures/2.0/task-dispatch.maximal.json', import.meta.url), 'utf8'),
    );
  const original = dispatchFingerprint(read());

  /** Removes the field when `value` is undefined. */
  function changed(path: readonly string[], value: JsonValue | undefined): JsonObject {
    const dispatch = read();
    const last = path.at(-1) ?? '';
    const parent = path.slice(0, -1).reduce<JsonObject>((at, key) => {
      const next = at[key];
      assert.ok(isJsonObject(next), `${key} is an object`);
      return next;
    }, dispatch);
    assert.ok(last in parent, `${last} is there`);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
    return dispatch;
  }

  for (const [path, value] of [
    [['task', 'token_budget'], 9999],
    [['task', 'token_budget'], undefined],
    [
      ['task', 'path'],
      ['switch', 'neo', 'trinity'],
    ],
    [['task', 'path'], undefined],
    [['deadline'], '2027-01-01T00:00:00Z'],
    [['deadline'], undefined],
    [['routing'], { target: 'trinity' }],
    [['routing', 'max_attempts'], 1],
    [['routing'], undefined],
  ] satisfies [string[], JsonValue | undefined][]) {
    it(`does not change when ${path.join('.')} becomes ${JSON.stringify(value)}`, () => {
      assert.equal(dispatchFingerprint(changed(path, value)), original);
    });
  }

  for (const [path, value] of [
    [['brief'], 'Refactor the auth module.'],
    [['task', 'task_id'], 'abc-124'],
    [['task', 'priority'], 'low'],
    [['task', 'reply_schema'], 'prose'],
    [['task', 'write'], false],
    [['task', 'root_id'], undefined],
    [['task', 'x_vendor'], undefined],
    [['requirements', 'min_context_window'], 1],
    [['requirements', 'x_vendor'], undefined],
    [['protocol_version'], '2.1'],
    [['x_vendor'], undefined],
  ] as const) {
    it(`changes when ${path.join('.')} becomes ${JSON.stringify(value)}`, () => {
      assert.notEqual(dispatchFingerprint(changed(path, value)), original);
    });
  }

  it('does not depend on the order of keys, at any depth', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (stream) => {
        const order = (): number => stream.next().value;
        const dispatch = shuffled(read(), order);
        assert.ok(isJsonObject(dispatch));
        assert.equal(dispatchFingerprint(dispatch), original);
      }),
      { numRuns: 50 },
    );
  });

  it('depends on the order of list items', () => {
    const dispatch = changed(['requirements', 'required_capabilities'], ['file', 'terminal']);
    assert.notEqual(dispatchFingerprint(dispatch), original);
  });

  it('does not change the dispatch', () => {
    const dispatch = read();
    dispatchFingerprint(dispatch);
    assert.deepEqual(dispatch, read());
  });
});
