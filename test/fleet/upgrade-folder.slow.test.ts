import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { initKeys, keyPaths, planFleet, readSecret, runningProcess } from '@hermes-fleet/cli';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { freshen, tasksIn, withLedger } from '../fixtures/ledgers.ts';
import { fixture, RELEASES, unpackDatabase, unpackWorkspace } from '../fixtures/pack.ts';
import { ROOT, runProgram, until } from '../support/fleet.ts';
import { freeOffset } from '../support/ports.ts';
import { resultWhenEnded } from '../support/sent-tasks.ts';

for (const release of RELEASES)
  test(`a fleet folder with configuration and state of ${release} goes on under the commands of this version`, {
    timeout: 400_000,
  }, async (t) => {
    const root = tempDir(t, { closeFirst: () => fleet('down') });
    const env = { ...process.env, FLEET_FOLDER: root, PROMETHEUS_BIN: '' };
    const fleet = (...args: string[]) =>
      runProgram(process.execPath, [join(ROOT, 'libs/cli/src/main.ts'), ...args], {
        env,
        cwd: root,
        timeoutMs: 180_000,
      });
    cpSync(fixture(release, 'configuration/shipped'), root, { recursive: true });
    cpSync(join(ROOT, 'deploy/members.yaml'), join(root, 'members.yaml'));
    const portOffset = await freeOffset();
    const plan = planFleet({ root, portOffset });
    initKeys({
      dir: plan.keysDir,
      services: plan.members.map(({ name }) => name),
      nats: { storeDir: plan.natsStoreDir, host: '127.0.0.1', port: plan.nats.port, syncAlways: false },
    });
    for (const name of ['switch', 'neo', 'trinity']) {
      const ledger = join(plan.dir, 'state', name, 'ledger.db');
      mkdirSync(join(plan.dir, 'state', name), { recursive: true, mode: 0o700 });
      unpackDatabase(fixture(release, `${name}.ledger.db.gz`), ledger);
      freshen(ledger);
      if (name === 'switch') continue;
      await unpackWorkspace(fixture(release, `${name}.workspace.tar.gz`), join(plan.dir, 'workspaces', name));
    }
    mkdirSync(join(plan.dir, 'state/trader'), { mode: 0o700 });
    unpackDatabase(fixture(release, 'control.db.gz'), join(plan.dir, 'state/trader/control.db'));
    const copy = join(root, 'switch.db');
    unpackDatabase(fixture(release, 'switch.ledger.db.gz'), copy);
    const done = await withLedger(copy, 'switch', (ledger) =>
      [...tasksIn(ledger).values()].find(({ key }) => key === 'relayed-done'),
    );
    const token = readSecret(keyPaths(plan.keysDir).operatorToken);

    const up = await fleet('up', '--port-offset', String(portOffset));
    assert.equal(up.code, 0, up.stdout + up.stderr);
    assert.match(
      up.stderr,
      /note: .+\/profiles\/neo\/config\.yaml:8: since 0\.2\.0, the shipped MCP servers have names/,
    );
    assert.equal(readSecret(keyPaths(plan.keysDir).operatorToken), token);
    const version = readFileSync(join(plan.dir, 'version'), 'utf8').trim();
    const target = { url: plan.profiles[0]?.url ?? '', token: token ?? '' };
    assert.equal((await resultWhenEnded(target, done?.id ?? '')).status, 'done');
    const audit = await fleet('trader', 'audit', 'verify');
    assert.equal(audit.code, 0, audit.stdout + audit.stderr);

    // A second `up` finds nothing to do.
    const again = await fleet('up');
    assert.equal(again.code, 0, again.stderr);
    assert.doesNotMatch(again.stdout, / (?:started|restarted)/);
    const { pid } = runningProcess(plan.runDir, 'neo') ?? assert.fail('neo does not run');
    process.kill(pid, 'SIGKILL');
    await until(() => (runningProcess(plan.runDir, 'neo')?.pid ?? pid) !== pid, 'neo to be restarted');

    // The program that comes before the one that wrote the state last.
    writeFileSync(join(plan.dir, 'version'), '999.0.0\n');
    for (const command of [['up'], ['keys', 'init'], ['keys', 'rotate']]) {
      const { code, stderr } = await fleet(
        ...command,
        ...(command[0] === 'keys' ? ['--dir', plan.keysDir] : []),
      );
      assert.equal(code, 1, stderr);
      assert.match(stderr, new RegExp(`was written by 999\\.0\\.0, this is ${version}: install 999`));
    }
    assert.equal(readSecret(keyPaths(plan.keysDir).operatorToken), token);
    const rows = JSON.parse((await fleet('ps', '--json')).stdout);
    assert.deepEqual(
      rows.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`),
      [...plan.processes.map(({ name }) => `${name} ready`), 'supervisor ready'],
    );

    assert.equal((await fleet('down')).code, 0);
    assert.deepEqual(
      [existsSync(join(plan.runDir, 'neo.json')), existsSync(join(plan.runDir, 'restarts'))],
      [false, false],
    );
    rmSync(copy);
  });
