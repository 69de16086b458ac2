import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import {
  attemptOf,
  CONCERN,
  decided,
  judging,
  openSeeded,
  payload,
  refusedFrom,
  STRATEGIES,
  strategy,
  switchTo,
  TREND,
  wantedBy,
} from '../../testing/store/harness.ts';

const TEXTS: readonly [name: string, text: string][] = [
  ['half a surrogate pair', '{"reason":"\ud800 \udfff"}'],
  ['NUL and other controls', '{"reason":"a\0b\u0001\u001f\u007f\u0085\u2028"}'],
  ['__proto__', '{"__proto__":{"override":true},"constructor":1}'],
  ['16 kB', `{"reason":"${'\u00e9\ud83d\ude00'.repeat(2_700)}"}`],
  ['quotes, backslashes and what looks escaped', '{"reason":"\\\\ud800 \\" \\\\0"}'],
  ['the replacement character', '{"reason":"\ufffd"}'],
  ['a byte order mark', '\ufeff{}'],
  ['numbers beyond a double', '{"confidence":1e400}'],
  ['nothing', ''],
];

for (const [name, text] of TEXTS) {
  test(`${name}: the audit records it as received`, deadline, async (t) => {
    const { store, reopen } = await openSeeded(t);
    const { response } = (await decided(store, payload())).verdict;
    await store.refuse(attemptOf(text, { onBehalfOf: text }), {
      ...refusedFrom(response),
      decisionId: text,
    });
    const again = await reopen();
    const record = again.audit(2, 1)[0]?.record;
    assert.equal(record?.['text'], text);
    assert.equal(record['on_behalf_of'], text);
    const answer = record['response'];
    assert.ok(typeof answer === 'object' && answer !== null && 'decision_id' in answer);
    assert.equal(answer.decision_id, text);
    assert.deepEqual((await again.verify()).ok, true);
  });
}

test('ids that differ only in a lone surrogate are distinct', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const ids = ['\ud800', '\ud801', '\ufffd', '\0', '\0a', '__proto__', '\\ud800', '"', "'"];
  const { response } = (await decided(store, payload())).verdict;
  for (const id of ids) {
    const wanted = { decisionId: id, concernId: id, targetStrategyId: id, fingerprint: 'f' };
    await store.decide(attemptOf(id, { caller: id }), wanted, ({ concern, target, previous }) => {
      assert.deepEqual([concern, target, previous], [undefined, undefined, undefined]);
      return { response: { ...response, decisionId: id, concernId: id }, isFirst: true };
    });
  }
  const again = await reopen();
  for (const id of ids) {
    const [{ decisionId, caller, response } = assert.fail(id), ...others] = again.decisions(id, 100);
    assert.deepEqual([decisionId, caller, response.concernId, others], [id, id, id, []]);
  }
  assert.deepEqual(
    again.outbox.read(1, 100).map(({ event }) => event.subject),
    ids,
  );
  // The chain is whole; what the test has judged is no decision.
  assert.match((await again.verify()).broken?.reason ?? '', /its payload is not a decision/);
});

test('names and params of a strategy survive a round trip', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const params: JsonObject = JSON.parse('{"__proto__":{"a":"\\ud800\\u0000"},"b":[1e21,-0.5,null,true]}');
  const odd = strategy({ id: 'a\0\ud800\\', name: '"\udfff\n', kind: '__proto__', params });
  await store.seed([...STRATEGIES, odd], [CONCERN]);
  const again = await reopen();
  assert.deepEqual(again.strategy(odd.id), odd);
  assert.equal(JSON.stringify(again.strategy(odd.id)?.params), JSON.stringify(params));
  assert.equal(again.strategy('a'), undefined);
  const text = JSON.stringify(switchTo(TREND));
  const next = { ...CONCERN, activeStrategyId: odd.id, rev: 1 };
  await again.decide(attemptOf(text), wantedBy(text), (facts) => ({ ...judging(text)(facts), next }));
  assert.equal(again.concern(CONCERN.id)?.activeStrategyId, odd.id);
});

test("an engine's snapshot survives a round trip", deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const snapshot: JsonObject = JSON.parse(
    '{"__proto__":{"x":"\\ud800"},"z":"\\u0000","big":"12345678901234567890.1"}',
  );
  const saved = store.saveEngine(CONCERN.id, snapshot, []);
  const again = await reopen();
  await saved;
  assert.equal(JSON.stringify(again.loadEngine(CONCERN.id)), JSON.stringify(snapshot));
});
