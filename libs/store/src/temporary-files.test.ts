import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '@hermes-fleet/protocol/testing';

/** Prints the temporary files that SQLite has open in the middle of a large transaction of an owner of `dir`. */
const OWNER = `
  import { readdirSync, readlinkSync } from 'node:fs';
  import { DatabaseSync } from 'node:sqlite';
  import { acquireOwnership } from '${join(import.meta.dirname, 'index.ts')}';
  const [dir] = process.argv.slice(1);
  using owner = acquireOwnership({ dir, profile: 'neo' });
  const db = new DatabaseSync(dir + '/large.db');
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (a TEXT); BEGIN');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  for (let i = 0; i < 5000; i += 1) insert.run('x'.repeat(1000));
  db.exec("COMMIT; BEGIN; SAVEPOINT job; UPDATE t SET a = 'y' || a");
  const open = readdirSync('/proc/self/fd').map((fd) => { try { return readlinkSync('/proc/self/fd/' + fd) } catch { return '' } });
  console.log(JSON.stringify(open.filter((path) => path.includes('etilqs_'))));`;

async function opened(dir: string, env: Record<string, string>): Promise<string[]> {
  const args = ['--no-warnings', '--input-type=module', '-e', OWNER, dir];
  return JSON.parse((await promisify(execFile)(process.execPath, args, { env })).stdout);
}

test('SQLite keeps its temporary files below the state, and not where commands can fill the disk', async (t) => {
  const dir = tempDir(t);
  const files = await opened(dir, {});
  assert.deepEqual([files.length, files[0]?.startsWith(join(dir, 'tmp/etilqs_'))], [1, true], files[0]);
});

test('a folder for temporary files that the operator chose stays', async (t) => {
  const chosen = tempDir(t);
  const [file] = await opened(tempDir(t), { SQLITE_TMPDIR: chosen });
  assert.ok(file?.startsWith(`${chosen}/etilqs_`), file);
});
