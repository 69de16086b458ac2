import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { PROTOCOL_VERSIONS, systemClock, systemIds } from '@hermes-fleet/protocol';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { examineSpending } from './examine-spending.ts';

test('the doctor counts what a task reserves that was given up, as the gateway does', async (t) => {
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const ledgerFile = join(dir, 'ledger.db');
  const ledger = openLedger({
    file: ledgerFile,
    profile: 'switch',
    clock: systemClock,
    ids: systemIds,
    log: silentLog,
  });
  const { task } = await ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'peer',
    key: 'mine',
    fingerprint: 'f',
    message: {},
    dispatch: {
      type: 'TASK_DISPATCH',
      protocol_version: '2.0',
      task: { task_id: 'mine', token_budget: 900 },
      brief: 'do it',
    },
  });
  await ledger.saveCheckpoint(task.id, { keep_after_end: true });
  await ledger.append(task.id, { type: 'error', data: {} });
  const config = FleetConfigSchema.parse({
    fleet: {
      orchestrate: true,
      server: { bind_port: 9_219, auth_required: false },
      spending: { callers: { peer: { tokens_per_day: 1_000 } } },
    },
  });
  const findings = examineSpending({
    profile: 'switch',
    config,
    versions: PROTOCOL_VERSIONS,
    clock: systemClock,
    defaultBudget: undefined,
    countCache: false,
    ownSpends: true,
    ledgerFile,
  });
  assert.deepEqual(
    findings.map(({ check }) => check),
    ['callers.peer.tokens_per_day'],
  );
  assert.match(findings[0]?.detail ?? '', /^100 of 1000 tokens are left .* 900 reserved by unfinished tasks/);
});
