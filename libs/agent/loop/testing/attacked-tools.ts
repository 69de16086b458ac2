import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock, type ToolResult } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type AnchoredFiles, anchoredFiles } from '@hermes-fleet/workspace';
import type { AgentTool } from '../src/run/conversation.ts';
import { fileTools } from '../src/tools/file-tools.ts';
import { findFilesTool, listFilesTool } from '../src/tools/find-files.ts';
import { grepFilesTool } from '../src/tools/grep-files.ts';
import { memoryTools } from '../src/tools/memory.ts';
import { progressTools } from '../src/tools/progress.ts';
import { scratchpadTools } from '../src/tools/scratchpad.ts';
import { makeToolContext } from './harness.ts';

export const SECRET = 'top secret needle';

/** Makes a workspace, and beside it a directory that no tool may read from or write to. */
export function makeTree(t: TestContext) {
  const base = tempDir(t);
  const [root, outside] = [join(base, 'workspace'), join(base, 'workspace-secret')];
  for (const directory of [root, outside, join(root, 'dir'), join(root, '.git'), join(base, 'state')])
    mkdirSync(directory);
  writeFileSync(join(outside, 'secret'), SECRET);
  writeFileSync(join(outside, 'secret.md'), SECRET);
  writeFileSync(join(outside, 'PROGRESS.json'), JSON.stringify({ remaining: [SECRET] }));
  writeFileSync(join(root, 'dir/file'), 'inside');
  writeFileSync(join(root, '.git/config'), SECRET);
  const before = snapshot(outside);
  return {
    base,
    root,
    outside,
    memory: join(base, 'state/memory'),
    unharmed: () => assert.deepEqual(snapshot(outside), before),
  };
}

export type Tree = ReturnType<typeof makeTree>;

const snapshot = (dir: string): Record<string, string> =>
  Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), 'utf8')]));

export function toolsOn(tree: Tree, wrapFiles = (files: AnchoredFiles) => files) {
  const { root, memory } = tree;
  const context = makeToolContext({ dir: root, files: wrapFiles(anchoredFiles(root, false)) });
  const clock = systemClock;
  const all: AgentTool[] = [
    ...[...fileTools(), listFilesTool({ clock }), findFilesTool({ clock })],
    ...[grepFilesTool({ clock, commands: true }), ...progressTools(), ...scratchpadTools()],
    ...memoryTools({ dir: memory }),
  ];
  const tools = new Map(all.map((tool) => [tool.name, tool]));
  tools.set('grep_files (in the gateway)', grepFilesTool({ clock, commands: false }));
  return {
    names: [...tools.keys()],
    async call(name: string, input: object): Promise<ToolResult> {
      const tool = tools.get(name);
      assert.ok(tool, name);
      const result = await tool.run(input, context);
      assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET), `${name} ${JSON.stringify(input)}`);
      return result;
    },
  };
}

/** Input of every tool that takes a path of the workspace. */
export const BY_PATH: Readonly<Record<string, (path: string) => object>> = {
  read_file: (path) => ({ path }),
  write_file: (path) => ({ path, content: 'planted' }),
  edit_file: (path) => ({ path, old_text: 'secret', new_text: 'planted' }),
  list_files: (path) => ({ path }),
  find_files: (path) => ({ pattern: '**', path }),
  grep_files: (path) => ({ pattern: 'needle', path }),
  'grep_files (in the gateway)': (path) => ({ pattern: 'needle', path }),
};
/** Input of every tool that takes a path pattern. */
export const BY_PATTERN: Readonly<Record<string, (path: string) => object>> = {
  find_files: (pattern) => ({ pattern }),
  grep_files: (include) => ({ pattern: 'needle', include }),
  'grep_files (in the gateway)': (include) => ({ pattern: 'needle', include }),
};
/** Input of every tool that takes a name in its own folder. */
export const BY_NAME: Readonly<Record<string, (name: string) => object>> = {
  scratchpad_read: (name) => ({ name }),
  scratchpad_write: (name) => ({ name, content: 'planted' }),
  memory_read: (name) => ({ name }),
  memory_write: (name) => ({ name, content: 'planted' }),
};
/** Input of the tools that take neither path nor name; the tests attack their folder. */
export const FIXED: Readonly<Record<string, object>> = {
  progress_read: {},
  progress_update: { remaining: ['x'] },
  scratchpad_list: {},
  memory_list: {},
};
