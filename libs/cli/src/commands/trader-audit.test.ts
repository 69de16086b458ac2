import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Answer, AuditReport } from '@hermes-fleet/protocol/api';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { readAudit, renderRecords, renderVerified, verifyAudit } from './trader-audit.ts';

type Report = Answer<typeof AuditReport>;
const SOUND: Report = {
  file: '/state/control.db',
  ok: true,
  records: 9,
  head: { seq: 9, hash: 'abc' },
  published: { state: 'asked', seq: 9, hash: 'abc' },
  witness: { state: 'asked', heads: [{ seq: 8, hash: 'abb', store: 'a', verdict: 'ok' }] },
  accepted: [],
};
const BROKEN: Report = { ...SOUND, ok: false, records: 3, broken: { seq: 4, reason: 'it was changed' } };

/** A trader with this program as its entry point. */
const entry = (t: TestContext, program: string) => {
  const dir = tempDir(t, { prefix: 'audit-' });
  const main = join(dir, 'main.mjs');
  writeFileSync(main, program);
  return { command: [main], env: { PATH: process.env.PATH, MARK: 'here' }, cwd: dir };
};

test('a verification report is read whatever the exit code', async (t) => {
  const program = `console.log(JSON.stringify({ ...${JSON.stringify(BROKEN)}, args: process.argv.slice(2), mark: process.env.MARK })); process.exitCode = 1;`;
  assert.deepEqual(await verifyAudit(entry(t, program), 'seen'), {
    ...BROKEN,
    args: ['--verify-audit', '--witness', 'seen'],
    mark: 'here',
  });
});

test('records are read one per line, up to the limit', async (t) => {
  const program = `const [, , , , after, , limit] = process.argv;
    for (let seq = Number(after) + 1; seq <= Number(after) + Number(limit); seq += 1) console.log(JSON.stringify({ seq, hash: '', record: { kind: 'seed', at: 'then' } }));`;
  const found = await readAudit(entry(t, program), { after: 4, limit: 2 });
  assert.deepEqual(
    found.map(({ seq }) => seq),
    [5, 6],
  );
  assert.deepEqual(await readAudit(entry(t, ''), { after: 0, limit: 2 }), []);
});

test('a missing or truncated answer is an error with the output of the process', async (t) => {
  const failing = entry(t, `console.error('no such file'); process.exit(1);`);
  await assert.rejects(verifyAudit(failing, ''), { code: 'CONFIG_INVALID', message: /no such file/ });
  await assert.rejects(readAudit(failing, { after: 0, limit: 1 }), /no such file/);
  await assert.rejects(verifyAudit(entry(t, ''), ''), /it reported nothing/);
  const half = entry(
    t,
    `console.log('{"seq": 1, "hash": "", "record": {"kind": "seed", "at": "then"}}'); console.log('{"seq":'); console.error('cut off');`,
  );
  await assert.rejects(readAudit(half, { after: 0, limit: 2 }), /cut off/);
});

test('the rendered report says whether the audit is intact and whether the published head was compared', () => {
  assert.deepEqual(renderVerified(SOUND), [
    'the audit is intact: 9 records',
    '  file       /state/control.db',
    '  newest     record 9, abc',
    '  published  NATS holds the head of record 9',
    '  witness    the console has seen record 8',
  ]);
  const accepted = [{ seq: 7, at: 'then', caller: 'operator', reason: 'a backup', published: null }];
  assert.equal(
    renderVerified({ ...SOUND, accepted }).at(-1),
    '  accepted   in record 7 by operator: a backup',
  );
  assert.equal(renderVerified(BROKEN)[0], 'the audit is BROKEN at record 4: it was changed');
  const away: Report = { ...SOUND, published: { state: 'not asked', reason: 'NATS is away' } };
  assert.match(renderVerified(away).at(-2) ?? '', /was not asked.*may go undetected: NATS is away$/);
  const seen = (witness: Report['witness']): string => renderVerified({ ...SOUND, witness }).at(-1) ?? '';
  assert.match(seen({ state: 'not asked', reason: 'it is away' }), /console was not asked: it is away$/);
  assert.match(seen({ state: 'asked', heads: [] }), /has seen no head yet$/);
  const head = { hash: '', store: 'a' };
  const heads = [
    { ...head, seq: 7, verdict: 'accepted', accepted_in: 9 } as const,
    { ...head, seq: 12, verdict: 'missing' } as const,
  ];
  assert.match(
    seen({ state: 'asked', heads }),
    /seen record 7, accepted in record 9; record 12, which the audit does not have$/,
  );
  const none: Report = { ...SOUND, published: { state: 'asked', seq: null, hash: null } };
  assert.match(renderVerified(none).at(-2) ?? '', /holds no published head yet$/);
});

test('records are rendered one per line, with caller, decision and outcome', () => {
  const attempt = {
    kind: 'attempt',
    at: 'then',
    door: 'mcp',
    caller: 'switch',
    status: 'rejected',
    response: {
      action: 'pause',
      concern_id: 'a:b',
      decision_id: 'd1',
      dry_run: true,
      errors: [{ code: 'no_active_strategy', message: 'nothing is active' }],
    },
  };
  const status = { kind: 'status', at: 'then', strategy_id: 's1', status: 'faulted', reason: 'it failed' };
  const contents = [
    { kind: 'seed', at: 'then', concerns: [{}], strategies: [{}, {}] },
    attempt,
    { kind: 'outcome', at: 'then', of: 2, outcome: 'applied' },
    status,
    {
      kind: 'hold',
      at: 'then',
      change: { concern_id: 'a:b', run_state: 'paused', risk_mode: 'halted' },
      reason: 'not saved',
    },
    { kind: 'refusals', at: 'then', caller: 'switch', counts: { forbidden: 9 }, from: 'before', to: 'then' },
    {
      kind: 'accept',
      at: 'then',
      caller: 'operator',
      broken: { seq: 3, reason: 'it is gone' },
      reason: 'seen',
    },
    { kind: 'of the future', at: 'then' },
  ];
  const records = contents.map((record, at) => ({ seq: at + 1, hash: '', record }));
  const cell = (row: string): string => row.split(/ {2,}/).join(' | ');
  assert.deepEqual(renderRecords(records).map(cell), [
    'record | at | kind | who | what | outcome',
    '1 | then | seed | - | 1 concerns, 2 strategies | -',
    '2 | then | attempt | switch by mcp | pause a:b d1, a dry run | rejected no_active_strategy',
    '3 | then | outcome | - | of record 2 | applied',
    '4 | then | status | - | s1 | faulted: it failed',
    '5 | then | hold | - | a:b | paused, halted: not saved',
    '6 | then | refusals | switch | refused since before | 9 forbidden',
    '7 | then | accept | operator | it is gone | accepted: seen',
    '8 | then | of the future | - | a kind that this version does not know | -',
  ]);
  assert.deepEqual(renderRecords([]), ['no records']);
});
