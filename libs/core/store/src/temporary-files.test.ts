import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '@hermes-fleet/protocol/testing';

/**
 * Prints the temporary files that SQLite has open while an owner of `dir` sorts much, while it rewrites its file, and while a
 * step of the schema makes an index of a large table.
 */
const OWNER = `
  import { readdirSync, readlinkSync } from 'node:fs';
  import { acquireOwnership, openConnections } from '${join(import.meta.dirname, 'index.ts')}';
  import { DatabaseSync } from 'node:sqlite';
  import { rewriteFile } from '${join(import.meta.dirname, 'rewrite.ts')}';
  const [dir] = process.argv.slice(1);
  using owner = acquireOwnership({ dir, profile: 'neo' });
  const schema = { name: 'large', applicationId: 1, migrations: ['CREATE TABLE t (a TEXT)'] };
  const { writer } = openConnections(dir + '/large.db', schema, () => 'id');
  const insert = writer.prepare('INSERT INTO t VALUES (?)');
  writer.exec('BEGIN');
  for (let i = 0; i < 20000; i += 1) insert.run(i + 'x'.repeat(1000));
  writer.exec('COMMIT');
  const links = () => readdirSync('/proc/self/fd').map((fd) => { try { return readlinkSync('/proc/self/fd/' + fd) } catch { return '' } });
  const open = () => links().filter((path) => path.includes('etilqs_'));
  const sorting = [];
  for (const row of writer.prepare('SELECT a FROM t ORDER BY a DESC').iterate()) {
    sorting.push(...open());
    break;
  }
  const rewriting = new Set();
  writer.setAuthorizer(() => { for (const path of open()) rewriting.add(path); return 0; });
  rewriteFile(writer, 'large');
  const after = writer.prepare('PRAGMA temp_store').get().temp_store;
  writer.close();
  const migrating = new Set();
  const exec = DatabaseSync.prototype.exec;
  let calls = 0;
  DatabaseSync.prototype.exec = function (sql) {
    if (sql.includes('seen'))
      this.function('seen', { deterministic: true }, (a) => {
        if (++calls % 5000 === 0) for (const path of open()) migrating.add(path);
        return a;
      });
    return exec.call(this, sql);
  };
  const step = 'CREATE INDEX large ON t (seen(a))';
  openConnections(dir + '/large.db', { ...schema, migrations: [...schema.migrations, step] }, () => 'id').writer.close();
  console.log(JSON.stringify({ sorting, rewriting: [...rewriting], migrating: [...migrating], after }));`;

async function opened(
  dir: string,
  env: Record<string, string>,
): Promise<{ sorting: string[]; rewriting: string[]; migrating: string[]; after: number }> {
  const args = ['--no-warnings', '--input-type=module', '-e', OWNER, dir];
  return JSON.parse((await promisify(execFile)(process.execPath, args, { env })).stdout);
}

test('a rewrite and a migration have their temporary files below the state, and not where commands can fill the disk; a sort has none', async (t) => {
  const dir = tempDir(t);
  const { sorting, rewriting, migrating, after } = await opened(dir, {});
  assert.deepEqual([sorting, rewriting.length, after], [[], 1, 2]);
  for (const found of [rewriting[0], migrating[0]])
    assert.ok(found?.startsWith(join(dir, 'tmp/etilqs_')), found);
});

test('a folder for temporary files that the operator chose stays', async (t) => {
  const chosen = tempDir(t);
  const { rewriting } = await opened(tempDir(t), { SQLITE_TMPDIR: chosen });
  assert.ok(rewriting[0]?.startsWith(`${chosen}/etilqs_`), rewriting[0]);
});
