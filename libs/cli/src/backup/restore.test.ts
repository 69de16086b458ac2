import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { backUp, beside, failure, fleetFolder, RELEASE } from '../../testing/fleet-folder.ts';
import { recordProcess } from '../local/pid-file.ts';
import { planFleet } from '../local/plan.ts';
import { restore } from './restore.ts';

/** Lists the contents of a folder, with modes and owners. */
function everythingIn(dir: string): unknown[] {
  return ['.', ...readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()].map((name) => {
    const { mode, uid, gid, size } = lstatSync(join(dir, name));
    return { name, mode, uid, gid, size };
  });
}

describe('a restore', () => {
  it('of a file that is no complete backup changes nothing', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../backup.tar.zst');
    const { bytes } = await backUp(plan, file);
    const other = beside(plan, 'other');
    const changed = (change: (content: Buffer) => void): string => {
      const content = readFileSync(file);
      change(content);
      writeFileSync(`${file}.changed`, content);
      return `${file}.changed`;
    };
    const flipped = changed((content) => {
      const at = Math.floor(bytes / 2);
      content[at] = (content[at] ?? 0) ^ 1;
    });
    await assert.rejects(
      restore(other, flipped, RELEASE),
      failure('CONFIG_INVALID', /is no complete backup: /),
    );
    truncateSync(flipped, bytes - 5);
    await assert.rejects(
      restore(other, flipped, RELEASE),
      failure('CONFIG_INVALID', /is no complete backup: /),
    );
    await assert.rejects(
      restore(other, '/etc/hostname', RELEASE),
      failure('CONFIG_INVALID', /is no complete backup: /),
    );
    await assert.rejects(
      restore(other, join(plan.dir, 'none'), RELEASE),
      failure('CONFIG_INVALID', /ENOENT/),
    );
    assert.equal(existsSync(other.dir), false);
  });

  it('of an archive that is none of the fleet changes nothing', async (t) => {
    const plan = fleetFolder(t);
    const other = beside(plan, 'other');
    const archive = (manifest: string, ...entries: string[]): string => {
      const file = join(plan.dir, '../foreign.tar.zst');
      writeFileSync(join(plan.dir, 'fleet-backup.json'), manifest);
      const made = spawnSync('tar', ['--zstd', '-cf', file, 'fleet-backup.json', ...entries], {
        cwd: plan.dir,
      });
      assert.equal(made.status, 0, String(made.stderr));
      return file;
    };
    const manifest = (parts: string[], format = 1): string =>
      JSON.stringify({ format, release: '9.0.0', created_at: '2026-11-28T00:00:00Z', parts });
    const rows: [text: string, entries: string[], reason: RegExp][] = [
      ['{}', [], /is no backup of a fleet/],
      ['not JSON', [], /is no backup of a fleet/],
      [manifest(['state/neo'], 2), ['state/neo'], /has the format 2, from release 9.0.0/],
      [manifest(['../etc']), [], /is no backup of a fleet/],
      [manifest(['state/neo']), ['state/neo', 'logs'], /has an entry that no backup has: logs\//],
      [manifest(['state/neo']), ['state/neo', 'state/switch'], /no backup has: state\/switch\//],
    ];
    for (const [text, entries, reason] of rows)
      await assert.rejects(
        restore(other, archive(text, ...entries), RELEASE),
        failure('CONFIG_INVALID', reason),
      );
    assert.equal(existsSync(other.dir), false);
  });

  it('needs a fleet that is down, and folders that are empty', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../neo.tar.zst');
    await backUp(plan, file, 'neo');
    await assert.rejects(
      restore(plan, file, RELEASE),
      failure(
        'CONFIG_INVALID',
        /has keys\/neo, state\/neo, workspaces\/neo already: restore into a folder without/,
      ),
    );
    const other = beside(plan, 'other');
    recordProcess(other.runDir, 'switch', process.pid);
    await assert.rejects(
      restore(other, file, RELEASE),
      failure('CONFIG_INVALID', /switch runs: stop the fleet first/),
    );
    assert.deepEqual(readdirSync(other.dir), ['run']);
  });

  it('of a damaged database leaves nothing, and folders that were there as they were', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../backup.tar.zst');
    const database = join(plan.dir, 'state/neo/ledger.db');
    const whole = readFileSync(database);
    for (const [what, content, reason] of [
      ['a page', Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(4096, 7)]), /malformed|Tree|page/],
      ['all of it', Buffer.from('not a database, but a long text '.repeat(200)), /file is not a database/],
    ] as const) {
      writeFileSync(database, content);
      await backUp(plan, file);
      const isDamaged = (error: unknown): boolean =>
        failure('CONFIG_INVALID', /state\/neo\/ledger.db is damaged in the backup: /)(error) &&
        failure('CONFIG_INVALID', reason)(error);
      const other = beside(plan, 'other');
      await assert.rejects(restore(other, file, RELEASE), isDamaged, what);
      assert.equal(existsSync(other.dir), false, what);

      // As volumes, and as a fleet that had other members.
      for (const [path, mode] of [
        ['state/neo', 0o2750],
        ['nats', 0o711],
        ['state/trinity', 0o700],
      ] as const) {
        mkdirSync(join(other.dir, path), { recursive: true });
        chmodSync(join(other.dir, path), mode);
      }
      writeFileSync(join(other.dir, 'state/trinity/ledger.db'), 'hers');
      const before = everythingIn(other.dir);
      await assert.rejects(restore(other, file, RELEASE), isDamaged, what);
      assert.deepEqual(everythingIn(other.dir), before, what);
      rmSync(other.dir, { recursive: true });
      rmSync(file);
    }
  });

  it('that cannot be written leaves everything as it was', async (t) => {
    const plan = fleetFolder(t);
    const file = join(plan.dir, '../backup.tar.zst');
    await backUp(plan, file);
    const other = beside(plan, 'other');
    mkdirSync(other.dir, { mode: 0o751 });
    writeFileSync(join(other.dir, 'state'), 'a file');
    const before = everythingIn(other.dir);
    await assert.rejects(
      restore(other, file, RELEASE),
      failure('CONFIG_INVALID', /has state\/neo, state\/switch already: /),
    );
    assert.deepEqual(everythingIn(other.dir), before);
    rmSync(join(other.dir, 'state'));
    symlinkSync('/proc/none', join(other.dir, 'nats'));
    const linked = everythingIn(other.dir);
    await assert.rejects(restore(other, file, RELEASE), failure('CONFIG_INVALID', /has nats already: /));
    assert.deepEqual(everythingIn(other.dir), linked);
  });

  it('of a newer version, or of a member for the fleet of one, is refused with what to install', async (t) => {
    const plan = fleetFolder(t);
    const [file, ofNeo] = [join(plan.dir, '../fleet.tar.zst'), join(plan.dir, '../neo.tar.zst')];
    await backUp(plan, file);
    await backUp(plan, ofNeo, 'neo');
    const other = beside(plan, 'other');
    await assert.rejects(
      restore(other, file, '1.2.3-rc.1'),
      failure('CONFIG_INVALID', /was made by 1\.2\.3, this is 1\.2\.3-rc\.1: install 1\.2\.3 or a later one/),
    );
    assert.equal(existsSync(other.dir), false);
    mkdirSync(other.dir);
    writeFileSync(join(other.dir, 'version'), '2.0.0\n');
    await assert.rejects(
      restore(other, ofNeo, RELEASE),
      failure('CONFIG_INVALID', /other was written by 2\.0\.0, this is 1\.2\.3/),
    );
    assert.deepEqual(readdirSync(other.dir), ['version']);
  });

  it('that ends in the middle leaves everything as it was', async (t) => {
    const dir = tempDir(t);
    const put = (path: string, text: string): void => {
      mkdirSync(join(dir, path, '..'), { recursive: true });
      writeFileSync(join(dir, path), text);
    };
    const tar = (...args: string[]): void => assert.equal(spawnSync('tar', args, { cwd: dir }).status, 0);
    const parts = ['keys/neo', 'state/neo'];
    const manifest = { format: 1, release: RELEASE, created_at: '2026-11-28T00:00:00Z', parts };
    put('fleet-backup.json', JSON.stringify(manifest));
    put('keys/neo/token', 'hash');
    put('state/neo/x', 'a file');
    tar('-cf', 'a.tar', 'fleet-backup.json', ...parts);
    rmSync(join(dir, 'state/neo/x'));
    put('state/neo/x/y', 'in a folder of the same name');
    tar('-rf', 'a.tar', 'state/neo/x/y');
    const file = join(dir, 'a.tar.zst');
    writeFileSync(file, zstdCompressSync(readFileSync(join(dir, 'a.tar'))));
    const plan = planFleet({ root: join(import.meta.dirname, '../../../..'), dir: join(dir, 'fleet') });
    await assert.rejects(
      restore(plan, file, RELEASE),
      failure('CONFIG_INVALID', /is no complete backup: tar ended/),
    );
    assert.equal(existsSync(plan.dir), false);
    mkdirSync(join(plan.dir, 'state/neo'), { recursive: true });
    const before = everythingIn(plan.dir);
    await assert.rejects(
      restore(plan, file, RELEASE),
      failure('CONFIG_INVALID', /is no complete backup: tar ended/),
    );
    assert.deepEqual(everythingIn(plan.dir), before);
  });
});
