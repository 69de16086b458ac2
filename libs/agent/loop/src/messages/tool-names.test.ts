import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bareName, meantTool, noSuchTool } from './tool-names.ts';

const MCP = [
  ...['mcp__files__read', 'mcp__files__read_text_file', 'mcp__files__search', 'mcp__context_mode__search'],
  ...['mcp__files__remove', 'mcp__api__fetch'],
];
const OFFERED = new Set(['read_file', 'write_file', 'edit_file', 'shell_exec', 'memory_read', ...MCP]);

test('a tool is meant by its own name, by another spelling of it, and by its name in other agents', () => {
  const meant = {
    read_file: 'read_file',
    ReadFile: 'read_file',
    Read: 'read_file',
    'write-file': 'write_file',
    'write file': 'write_file',
    MemoryRead: 'memory_read',
    str_replace: 'edit_file',
    MultiEdit: 'edit_file',
    bash: 'shell_exec',
    Bash: 'shell_exec',
    run_command: 'shell_exec',
    terminal: 'shell_exec',
    'container.exec': 'shell_exec',
    run_terminal_cmd: 'shell_exec',
    mcp__files__read: 'mcp__files__read',
  };
  for (const [name, tool] of Object.entries(meant)) assert.equal(meantTool(name, OFFERED), tool, name);
});

test('what chat templates and their parsers put around a name does not count', () => {
  const added = [
    ...['functions.NAME', 'default_api.NAME', 'default_api:NAME', 'tools.NAME', 'tool.NAME', 'api.NAME'],
    ...['multi_tool_use.NAME', 'tools.functions.NAME', 'functions.NAME:0', 'NAME:12', 'NAME()', 'NAME( )'],
    ...['NAME<|channel|>commentary', 'functions.NAME<|channel|>json<|message|>', 'NAME<｜tool▁sep｜>'],
    ...[' NAME ', 'NAME\n', '"NAME"', '`NAME`', "'functions.NAME'", '" NAME" '],
  ];
  for (const pattern of added)
    for (const [name, tool] of [
      ['write_file', 'write_file'],
      ['Bash', 'shell_exec'],
      ['mcp__files__remove', 'mcp__files__remove'],
    ] as const)
      assert.equal(meantTool(pattern.replace('NAME', name), OFFERED), tool, pattern);
  assert.equal(bareName('functions.'), 'functions.');
  assert.equal(bareName('rate_api'), 'rate_api');
});

test('a tool of an MCP server is meant by a part of its name that only one has', () => {
  const meant = {
    mcp_files_read: 'mcp__files__read',
    'mcp.files.read': 'mcp__files__read',
    files__read: 'mcp__files__read',
    'files.search': 'mcp__files__search',
    'api.fetch': 'mcp__api__fetch',
    read_text_file: 'mcp__files__read_text_file',
    'functions.files-remove': 'mcp__files__remove',
    search: undefined,
    'other.search': undefined,
    mcp__files: undefined,
  };
  for (const [name, tool] of Object.entries(meant)) assert.equal(meantTool(name, OFFERED), tool, name);
});

test('a name that fits no offered tool means none', () => {
  for (const name of [
    'fly',
    '',
    '()',
    'grep',
    'web_search',
    'mcp__files__write',
    'constructor',
    'read_file("a.txt")',
    `functions.${'x'.repeat(10_000)}`,
    ` ${'"'.repeat(100_000)}x`,
  ])
    assert.equal(meantTool(name, OFFERED), undefined, name);
});

test('the answer to a name that fits none names the three closest', () => {
  const closest = {
    raed_file: /^there is no tool raed_file; the closest are read_file, [^,]*, [^,]*$/,
    'functions.writeTheFile': /^there is no tool writeTheFile; the closest are write_file, /,
    file_searcher: /mcp__files__search/,
    executeCommands: /shell_exec/,
    [`x${'y'.repeat(10_000)}`]: /^there is no tool xy{63}…; the closest are /,
  };
  for (const [name, answer] of Object.entries(closest)) assert.match(noSuchTool(name, OFFERED), answer);
  assert.equal(noSuchTool('a', new Set(['b'])), 'there is no tool a; the closest are b');
  assert.equal(noSuchTool('a', new Set()), 'there is no tool a, and no other one');
});
