import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { changedConfiguration } from './changed-configuration.ts';

const root = resolve(import.meta.dirname, '../../../..');

test('what a configuration of 0.2.0 should change is named with its file, line and remedy', (t) => {
  const home = tempDir(t);
  cpSync(join(root, 'test/fixtures/0.2.0/configuration/shipped'), home, { recursive: true });
  rmSync(join(home, 'profiles/repositories.yaml'), { force: true });
  const fleetYaml = join(home, 'profiles/neo/fleet.yaml');
  const [before, after] = [
    'SWITCH_TO_NEO, scopes: [announce, dispatch, read]',
    'SWITCH_TO_NEO, scopes: [announce, dispatch]',
  ];
  const text = readFileSync(fleetYaml, 'utf8');
  assert.ok(text.includes(before));
  writeFileSync(fleetYaml, text.replace(before, after));

  const found = changedConfiguration(home).filter(({ file }) => !/switch|morpheus|trinity/.test(file));
  const lineOf = (file: string, part: string): number =>
    readFileSync(join(home, file), 'utf8')
      .split('\n')
      .findIndex((line) => line.includes(part)) + 1;
  const server = (name: string) => ({
    file: join(home, 'profiles/neo/config.yaml'),
    line: lineOf('profiles/neo/config.yaml', `server-${name}/`),
    text: `since 0.2.0, the shipped MCP servers have names: write "command: fleet-mcp-${name}" in place of node and this path`,
  });
  assert.deepEqual(found, [
    {
      file: join(home, 'profiles/repositories.yaml'),
      text: 'since 0.2.0, profiles share a file with their repositories, which containers mount: write "repositories: {}" into it',
    },
    server('filesystem'),
    server('memory'),
    {
      file: fleetYaml,
      line: lineOf('profiles/neo/fleet.yaml', after),
      text: 'since 0.2.0, an orchestrator passes on results of a worker: add read to the scopes of switch',
    },
  ]);
});
