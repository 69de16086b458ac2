import { basename } from 'node:path';
import { Priority, ReplySchema, ResultStatus } from '@hermes-fleet/protocol/handshake';
import { parse } from 'yaml';
import { z } from 'zod';
import { FileContent } from './file-content.ts';
import type { Script } from './script/script.ts';

const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item).min(1));
const pattern = z.string().transform((source, context) => {
  try {
    return new RegExp(source, 'im');
  } catch (error) {
    context.addIssue({ code: 'custom', message: `invalid regular expression: ${String(error)}` });
    return z.NEVER;
  }
});
const paths = z.array(z.string().min(1));

/** The expected outcome of a brief's run. */
const Expect = z.strictObject({
  /** Accepted statuses. */
  status: oneOrMore(ResultStatus),
  /** Workspace files with their exact content, except trailing white space. */
  files: z.record(z.string(), z.string()).default({}),
  /** Workspace files that are the initial ones with exactly these texts replaced; every other byte is the same. */
  edited: z.record(z.string(), z.record(z.string().min(1), z.string())).default({}),
  /** Workspace files that match these patterns. */
  matches: z.record(z.string(), oneOrMore(pattern)).default({}),
  /** Paths that must not exist, relative to the workspace. */
  absent: paths.default([]),
  /** The exact set of `files_changed`. */
  changed: paths.optional(),
  /** Files for the commands, which the agent does not see: written to the folder `checks-{{id}}` of the workspace. */
  hidden: z.record(z.string().regex(/^[\w.-]+$/), z.string()).default({}),
  /** Shell commands with their expected exit codes; run in the workspace afterwards, confined like the agent's. */
  commands: z.record(z.string(), z.int()).default({}),
  /** Patterns that the text of the reply matches. */
  text: oneOrMore(pattern).optional(),
  /** A value that the JSON reply must contain. */
  output: z.json().optional(),
  /** At least one evidence entry has these properties. */
  evidence: z
    .strictObject({
      kind: z.array(z.enum(['command', 'reread', 'review'])).optional(),
      detail: pattern.optional(),
      after_write: z.boolean().optional(),
      exit_code: z.int().optional(),
    })
    .optional(),
  /** True if the result must name remaining work or an error. */
  remaining: z.boolean().default(false),
  /** Pattern for `error.code`. */
  error: pattern.optional(),
  /** Tools that must be called successfully. */
  tools: z.array(z.string()).default([]),
  /** Patterns for files of the scratchpad and of the profile's memory, and for PROGRESS.json. */
  scratchpad: z.record(z.string(), pattern).default({}),
  memory: z.record(z.string(), pattern).default({}),
  progress: pattern.optional(),
  /** A limit below the budget. */
  max_tokens: z.int().nonnegative().optional(),
  max_seconds: z.number().positive().optional(),
});

const FrontMatter = z.strictObject({
  about: z.string().min(1),
  /** Required tools; the brief is skipped without them. */
  needs: z.array(z.string()).default([]),
  priority: Priority.default('normal'),
  reply: ReplySchema.default('structured'),
  output_schema: z.record(z.string(), z.json()).optional(),
  write: z.boolean().default(true),
  budget: z.int().positive().default(60_000),
  deadline_s: z.number().positive().max(1_800).default(300),
  /** The caller's answer to any question. */
  answer: z.string().optional(),
  /** Files in the repository at the start. */
  files: z.record(z.string(), FileContent).default({}),
  /** PROGRESS.json at the start. */
  progress: z.record(z.string(), z.array(z.string())).optional(),
  /** The context window in tokens, where the model's own is larger. */
  window: z.int().min(4_096).optional(),
  /** A step limit, where the configured one is lower, and an output limit, where the configured one is higher. */
  max_steps: z.int().positive().optional(),
  max_output_tokens: z.int().min(64).optional(),
  expect: Expect,
  /** Further messages in the same context, each sent when the work on the one before has ended. */
  turns: z
    .array(
      z.strictObject({
        text: z.string().trim().min(1),
        budget: z.int().positive().optional(),
        deadline_s: z.number().positive().max(1_800).optional(),
        expect: Expect,
      }),
    )
    .default([]),
});

/** A brief with its expected outcome. `{{id}}` in its text is replaced by a number that is unique to the run. */
export interface EvalBrief extends z.output<typeof FrontMatter> {
  readonly name: string;
  readonly text: string;
  /** Answers for a model that is played: this brief is not for `offline/runbook`. */
  readonly script?: Script | undefined;
}

export type Expectation = EvalBrief['expect'];

/** Parses a brief: YAML front matter, then the text for the agent. Throws an error that names the file. */
export function parseBrief(file: string, source: string, id: string): EvalBrief {
  const name = basename(file, '.md');
  const [, head, text] = /^---\n(.*?\n)---\n(.*)$/s.exec(source.replaceAll('{{id}}', id)) ?? [];
  if (head === undefined || text === undefined || text.trim() === '')
    throw new Error(`${file}: a brief is YAML between two --- lines, followed by a text`);
  const parsed = FrontMatter.safeParse(parse(head));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  return { ...parsed.data, name, text: text.trim() };
}

/** A message of a brief, with its limits and its expected outcome. */
export interface EvalTurn {
  readonly text: string;
  readonly budget: number;
  readonly deadlineS: number;
  readonly expect: Expectation;
}

/** The brief itself, then its further messages. */
export function turnsOf(brief: EvalBrief): EvalTurn[] {
  const { text, budget, deadline_s: deadlineS, expect, turns } = brief;
  return [
    { text, budget, deadlineS, expect },
    ...turns.map((turn) => ({
      text: turn.text,
      budget: turn.budget ?? budget,
      deadlineS: turn.deadline_s ?? deadlineS,
      expect: turn.expect,
    })),
  ];
}
