import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
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

test('the doctor says that the clock is before the day that tokens count for', async (t) => {
  const dir = tempDir(t, { closeFirst: () => ledger.close() });
  const ledgerFile = join(dir, 'ledger.db');
  const clock = manualClock();
  const ledger = openLedger({ file: ledgerFile, profile: 'neo', clock, ids: systemIds, log: silentLog });
  const { task } = await ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'switch',
    key: 'k',
    fingerprint: 'f',
    message: {},
    dispatch: {},
  });
  await ledger.tokens.add(task.id, {
    kind: 'own',
    inputTokens: 100,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    source: 'metered',
    model: 'm',
  });
  clock.set(-86_400_000);
  const config = FleetConfigSchema.parse({
    fleet: { server: { bind_port: 9_219, auth_required: false }, spending: { tokens_per_day: 1_000 } },
  });
  const findings = examineSpending({
    profile: 'neo',
    config,
    versions: PROTOCOL_VERSIONS,
    clock,
    defaultBudget: undefined,
    countCache: false,
    ownSpends: true,
    ledgerFile,
  });
  const [clockFinding, ceiling] = findings.map(({ check, state, detail }) => `${check} ${state} ${detail}`);
  assert.match(clockFinding ?? '', /^clock warning the clock is on 2025-12-31, before 2026-01-01/);
  assert.match(ceiling ?? '', /^tokens_per_day ok 900 of 1000 tokens are left on 2026-01-01 UTC/);
});
