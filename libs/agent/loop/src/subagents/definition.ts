import type { FieldError } from '@hermes-fleet/protocol';
import { isMap, isScalar, LineCounter, parseDocument, type Document as YamlDocument } from 'yaml';
import { z } from 'zod';

/** A sub-agent as its Markdown file defines it (docs/agent.md#sub-agents). */
export interface SubagentDefinition {
  readonly name: string;
  /** One line that tells a delegating agent what this one is for. */
  readonly description: string;
  /** Tools it may use if the run offers them; `mcp__<server>__*` stands for all tools of a server. */
  readonly tools: readonly string[];
  /** Limit of model calls; default: `subagents.max_steps` of config.yaml. */
  readonly maxSteps: number | undefined;
  readonly maxWords: number;
  /** Has no effect: sub-agents always use the profile's model. */
  readonly model: string | undefined;
  readonly instructions: string;
}

/** Tools forbidden to every sub-agent: it can neither delegate nor ask the task's caller. */
const NEVER: ReadonlySet<string> = new Set(['delegate', 'ask_caller']);

/** Tools that a definition may name, besides those of MCP servers. */
const KNOWN_TOOLS: ReadonlySet<string> = new Set([
  ...['list_files', 'read_file', 'write_file', 'edit_file', 'find_files', 'grep_files', 'shell_exec'],
  ...['shell_start', 'shell_output', 'shell_stop'],
  ...['progress_read', 'progress_update', 'scratchpad_read', 'scratchpad_write', 'scratchpad_list'],
  ...['memory_read', 'memory_write', 'memory_list', 'web_fetch', 'web_search', 'publish_file'],
  ...['a2a_list', 'a2a_discover', 'a2a_call', 'a2a_call_streaming', 'a2a_get_task'],
  ...['fleet_peers', 'fleet_route', 'fleet_send', 'fleet_discard'],
]);

/** The tools of a run that a definition allows. */
export const toolsFor = <T extends { readonly name: string }>(
  { tools }: Pick<SubagentDefinition, 'tools'>,
  offered: readonly T[],
): T[] => offered.filter(({ name }) => !NEVER.has(name) && tools.some((wanted) => names(wanted, name)));

const names = (wanted: string, name: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : wanted === name;

const DEFAULT_WORDS = 2000;
const MAX_BODY_CHARS = 16_000;
const MCP_TOOLS = /^mcp__[A-Za-z0-9_-]+__(?:[A-Za-z0-9_-]+|\*)$/;

const ToolName = z.string('write the name of a tool').superRefine((name, ctx) => {
  if (KNOWN_TOOLS.has(name) || MCP_TOOLS.test(name)) return;
  const message = NEVER.has(name)
    ? `no sub-agent may use ${name}; remove it`
    : `there is no tool ${JSON.stringify(name.slice(0, 60))}; use names such as read_file, or mcp__<server>__*`;
  ctx.addIssue({ code: 'custom', message });
});

const whole = (from: number, to: number) => {
  const reason = `write a whole number from ${from} to ${to}`;
  return z.int(reason).min(from, reason).max(to, reason);
};

const NAME = 'write a name of small letters, digits and hyphens, such as code-reader';
const DESCRIPTION = 'write one line of at most 300 characters that says what it is for';

const FrontMatter = z.strictObject({
  name: z.string(NAME).regex(/^[a-z][a-z0-9-]{0,31}$/, NAME),
  description: z.string(DESCRIPTION).regex(/^[^\n]{1,300}$/, DESCRIPTION),
  tools: z.array(ToolName, 'write a list of tools, such as [read_file, grep_files]').max(100).default([]),
  max_steps: whole(1, 200).optional(),
  max_words: whole(20, 20_000).default(DEFAULT_WORDS),
  model: z.string('write the name of a model, or remove it').min(1).optional(),
});

type ReadDefinition =
  | { readonly definition: SubagentDefinition }
  | { readonly problems: readonly FieldError[] };

/** Parses a sub-agent from Markdown with front matter. Each problem names file, line, key and fix. */
export function readDefinition(file: string, source: string): ReadDefinition {
  const text = source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const problem = (line: number, key: string, reason: string): FieldError => ({
    path: `${file}:${line}${key === '' ? '' : ` ${key}`}`,
    reason,
  });
  const match = /^---\n([\s\S]*?\n)---[ \t]*(?:\n|$)/.exec(text);
  if (match === null)
    return {
      problems: [problem(1, '', 'begin with front matter: name, description and tools between two ---')],
    };
  const front = match[1] ?? '';
  const lines = new LineCounter();
  const document = parseDocument(front, { lineCounter: lines });
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ linePos, message }) =>
      problem((linePos?.[0].line ?? 1) + 1, '', `is not valid YAML: ${message.split(/ at line |\n/)[0]}`),
    );
    return { problems };
  }
  const parsed = FrontMatter.safeParse(contentOf(document));
  const body = text.slice(match[0].length).trim();
  const problems = parsed.success
    ? []
    : parsed.error.issues.flatMap((issue) => describe(issue).map(([key, reason]) => at(key, reason)));
  function at(key: string, reason: string): FieldError {
    const offset = offsetOf(document, key.split('.')[0] ?? key);
    if (offset !== undefined) return problem(lines.linePos(offset).line + 1, key, reason);
    return problem(1, key, key === '' ? reason : `is missing: ${reason}`);
  }
  const bodyLine = match[0].split('\n').length;
  if (body === '')
    problems.push(problem(bodyLine, '', 'write below the front matter what it is to do, and how'));
  if (body.length > MAX_BODY_CHARS)
    problems.push(problem(bodyLine, '', `the text has ${body.length} characters; at most ${MAX_BODY_CHARS}`));
  if (!parsed.success || problems.length > 0) return { problems };
  const { max_steps: maxSteps, max_words: maxWords, ...rest } = parsed.data;
  return { definition: { ...rest, maxSteps, maxWords, model: rest.model, instructions: body } };
}

/** An empty document counts as an empty mapping. Aliases are rejected as a non-mapping. */
function contentOf(document: YamlDocument): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch {
    return 'aliases';
  }
}

/** The keys that an issue concerns, each with the fix. */
function describe(issue: z.core.$ZodIssue): [key: string, reason: string][] {
  const known = Object.keys(FrontMatter.shape).join(', ');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => [key, `unknown key; use ${known}, or remove it`]);
  if (issue.path.length === 0) return [['', `the front matter must be a mapping with the keys ${known}`]];
  return [[issue.path.join('.'), issue.message]];
}

function offsetOf({ contents }: YamlDocument, key: string): number | undefined {
  if (!isMap(contents)) return undefined;
  const pair = contents.items.find(({ key: name }) => isScalar(name) && String(name.value) === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}
