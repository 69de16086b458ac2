import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import { type Fence, fencesAndText } from '../messages/fences.ts';

/** A tool call that a brief spells out. */
export interface Action {
  readonly tool: string;
  readonly input: JsonObject;
}

export interface Runbook {
  readonly actions: readonly Action[];
  /** Unreadable blocks, one line each. */
  readonly problems: readonly string[];
}

type Parsed = Action | { readonly problem: string };

const SHELL = new Set(['sh', 'bash', 'shell']);
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const ADDRESSED = /^@([a-zA-Z0-9][a-zA-Z0-9-]*):(.*)$/;

/**
 * Parses a brief (docs/agent.md#offline-runbook): fenced `sh` blocks are commands, blocks titled with a path are files,
 * blocks titled `tool <name>` hold a tool's input as JSON, and a paragraph that begins with `@neo:` is a brief for neo.
 */
export function parseRunbook(brief: string): Runbook {
  const found: Parsed[] = [];
  let open: { agent: string; lines: string[] } | undefined;
  const close = (): void => {
    const text = open?.lines.join('\n').trim() ?? '';
    if (open !== undefined && text !== '')
      found.push({ tool: 'fleet_send', input: { agent: open.agent, brief: text } });
    open = undefined;
  };
  for (const part of fencesAndText(brief)) {
    if (typeof part !== 'string') {
      close();
      found.push(...blockAction(part));
      continue;
    }
    const [, agent, rest = ''] = ADDRESSED.exec(part) ?? [];
    if (agent === undefined && part.trim() !== '') {
      open?.lines.push(part.trimEnd());
      continue;
    }
    close();
    if (agent !== undefined) open = { agent, lines: [rest.trim()] };
  }
  close();
  return {
    actions: found.flatMap((one) => ('problem' in one ? [] : [one])),
    problems: found.flatMap((one) => ('problem' in one ? [one.problem] : [])),
  };
}

function blockAction({ info, content }: Fence): Parsed[] {
  const words = info.split(/\s+/).filter(Boolean);
  const [first = '', name = ''] = words;
  if (first === 'tool' && words.length === 2 && TOOL_NAME.test(name)) return [toolAction(name, content)];
  const path = words.find((word, index) => /[./]/.test(word) && (index > 0 || words.length === 1));
  if (path !== undefined) return [{ tool: 'write_file', input: { path, content } }];
  if (!SHELL.has(first) || content.trim() === '') return [];
  return [{ tool: 'shell_exec', input: { command: content.trimEnd() } }];
}

function toolAction(tool: string, content: string): Parsed {
  if (content.trim() === '') return { tool, input: {} };
  try {
    const input = z.json().safeParse(JSON.parse(content)).data;
    if (input !== undefined && isJsonObject(input)) return { tool, input };
  } catch (error) {
    // JSON that is nested too deeply throws a RangeError.
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
  }
  return { problem: `the block \`tool ${tool}\` does not hold a JSON object, which is its input` };
}

/** Describes an action in one line, for a result's `remaining`. */
export function describeAction({ tool, input }: Action): string {
  if (tool === 'shell_exec' && typeof input.command === 'string') return `run: ${input.command}`;
  if (tool === 'write_file' && typeof input.path === 'string') return `write: ${input.path}`;
  if (tool === 'fleet_send') return `send to ${print(input.agent)}: ${print(input.brief)}`;
  return `call ${tool}: ${print(input)}`;
}

const print = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replace(/\s+/g, ' ').slice(0, 300);
