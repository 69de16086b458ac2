import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { freeOffset } from '../../../test/support/ports.ts';
import { TOKENS, traderHome } from '../testing/trader-process.ts';

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('an engine that was changed does not start, over restarts too, until an operator accepts it', async (t) => {
  const port = 9220 + (await freeOffset());
  const home = traderHome(t, { port });
  home.edit('trader.yaml', (text) => text.replace(/^ {8}interval_s: 5$/m, '        interval_s: 0.05'));
  const file = join(home.stateDir, 'control.db');
  const ask = async (path: string, body?: JsonObject): Promise<JsonObject> => {
    const headers = {
      authorization: `Bearer ${TOKENS.A2A_HERMES_TOKEN_OPERATOR}`,
      'content-type': 'application/json',
    };
    const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    const answer: unknown = await (await fetch(`http://127.0.0.1:${port}${path}`, init)).json();
    assert.ok(isJsonObject(answer));
    return answer;
  };
  const entries = (): number => {
    using db = new DatabaseSync(file, { readOnly: true });
    return Number(db.prepare('SELECT count(*) AS n FROM books').get()?.n);
  };
  const first = home.run();
  await first.says('Server listening at');
  while (entries() < 20) await wait(20);
  first.signal('SIGTERM');
  await first.ended;
  {
    using db = new DatabaseSync(file);
    const { changes } = db
      .prepare(`UPDATE engines SET snapshot = json_set(snapshot, '$.account.cash', '1010000')`)
      .run();
    assert.equal(changes, 1);
  }
  const before = entries();
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const changed = home.run();
    await changed.says('engines were changed, and do not start');
    await changed.says('the audit is broken');
    await wait(500);
    assert.equal(entries(), before);
    changed.signal(signal);
    await changed.ended;
  }
  const last = home.run();
  await last.says('the audit is broken');
  await last.says('Server listening at');
  const { finding } = await ask('/audit');
  assert.ok(isJsonObject(finding));
  assert.match(String(finding.reason), /engines.*its snapshot is not the one that was saved/);
  await ask('/audit/accept', { finding: finding.id ?? null, reason: 'a gift' });
  while (entries() < before + 5) await wait(20);
  last.signal('SIGTERM');
  assert.equal((await last.ended).code, 0);
});
