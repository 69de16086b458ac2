import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleetDown } from '@hermes-fleet/cli';
import { decodeDispatch } from '@hermes-fleet/protocol/handshake';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { freshen, tasksIn, withLedger } from '../fixtures/ledgers.ts';
import { fixture, RELEASES, unpackDatabase, unpackWorkspace } from '../fixtures/pack.ts';
import { ROOT, runProgram, startFleet } from '../support/fleet.ts';
import { resultWhenEnded } from '../support/sent-tasks.ts';

const MEMBERS = ['switch', 'neo', 'trinity'] as const;

async function command(...args: string[]): Promise<string> {
  const main = join(ROOT, 'libs/cli/src/main.ts');
  const { code, stdout, stderr } = await runProgram(process.execPath, [main, ...args]);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

/** The tasks of switch that callers sent, by the caller's id. */
async function idsOfSwitch(release: string, file: string): Promise<Map<string, string>> {
  unpackDatabase(fixture(release, 'switch.ledger.db.gz'), file);
  return await withLedger(file, 'switch', (ledger) => {
    const own = [...tasksIn(ledger).values()].filter(({ dispatch }) => !decodeDispatch(dispatch).task.parent);
    return new Map(own.map(({ key, id }) => [key, id]));
  });
}

for (const release of RELEASES)
  test(`a fleet of ${release} is upgraded by the procedure of docs/operations.md, and goes back by it`, {
    timeout: 400_000,
  }, async (t) => {
    const fleet = await startFleet(t, MEMBERS);
    const down = () => fleetDown({ plan: fleet.plan, clock: systemClock, graceMs: 10_000 });
    await down();
    const ledgerOf = (name: string): string => join(fleet.dir, 'state', name, 'ledger.db');
    for (const name of MEMBERS) {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${ledgerOf(name)}${suffix}`, { force: true });
      unpackDatabase(fixture(release, `${name}.ledger.db.gz`), ledgerOf(name));
      freshen(ledgerOf(name));
      if (name === 'switch') continue;
      const workspace = join(fleet.dir, 'workspaces', name);
      rmSync(workspace, { recursive: true, force: true });
      await unpackWorkspace(fixture(release, `${name}.workspace.tar.gz`), workspace);
    }
    const older = MEMBERS.map((name) => readFileSync(ledgerOf(name)));

    const folder = tempDir(t);
    const ids = await idsOfSwitch(release, join(folder, 'switch.db'));
    const backup = join(folder, 'before.tar.zst');
    await command('backup', backup, '--dir', fleet.dir);
    await fleet.up();
    for (const [key, statuses] of [
      ['relayed-done', /^done$/],
      ['relayed-running', /^(done|partial)$/],
      // It waits for an MCP server that no worker of this fleet has.
      ['relayed-waiting', /^blocked$/],
    ] as const) {
      const result = await resultWhenEnded(fleet.target('switch'), ids.get(key) ?? assert.fail(key));
      assert.match(result.status, statuses, `${key}: ${JSON.stringify(result)}`);
    }

    await down();
    renameSync(fleet.dir, join(folder, 'newer'));
    await command('restore', backup, '--dir', fleet.dir);
    for (const [at, name] of MEMBERS.entries())
      assert.ok(readFileSync(ledgerOf(name)).equals(older[at] ?? Buffer.alloc(0)), `${name} of ${release}`);
  });
