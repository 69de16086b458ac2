import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meantTool } from './tool-names.ts';

const OFFERED = new Set(['read_file', 'write_file', 'edit_file', 'shell_exec', 'mcp__files__read']);

test('a tool is meant by its own name, by another spelling of it, and by its name in other agents', () => {
  const meant = {
    read_file: 'read_file',
    ReadFile: 'read_file',
    Read: 'read_file',
    'write-file': 'write_file',
    str_replace: 'edit_file',
    MultiEdit: 'edit_file',
    bash: 'shell_exec',
    Bash: 'shell_exec',
    run_command: 'shell_exec',
    mcp__files__read: 'mcp__files__read',
  };
  for (const [name, tool] of Object.entries(meant)) assert.equal(meantTool(name, OFFERED), tool, name);
});

test('a name that fits no offered tool means none', () => {
  for (const name of [
    'fly',
    '',
    'grep',
    'web_search',
    'mcp__files__write',
    'constructor',
    'x'.repeat(10_000),
  ])
    assert.equal(meantTool(name, OFFERED), undefined, name);
});
