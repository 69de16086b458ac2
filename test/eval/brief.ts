import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Priority, ReplySchema, ResultStatus } from '@hermes-fleet/protocol';
import { parse } from 'yaml';
import { z } from 'zod';

const oneOrMore = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(item).min(1));
const pattern = z.string().transform((source, context) => {
  try {
    return new RegExp(source, 'im');
  } catch (error) {
    context.addIssue({ code: 'custom', message: `no regular expression: ${String(error)}` });
    return z.NEVER;
  }
});
const paths = z.array(z.string().min(1));

/** What must be true once a brief's run is over. */
const Expect = z.strictObject({
  /** The statuses that are right. */
  status: oneOrMore(ResultStatus),
  /** Files of the workspace with their whole content; white space at the end does not count. */
  files: z.record(z.string(), z.string()).default({}),
  /** Files of the workspace that match. */
  matches: z.record(z.string(), oneOrMore(pattern)).default({}),
  /** What must not be there; `..` is beside the workspace. */
  absent: paths.default([]),
  /** All of `files_changed`. */
  changed: paths.optional(),
  /** Shell commands that are run in the workspace afterwards, confined like the agent's, with their exit codes. */
  commands: z.record(z.string(), z.int()).default({}),
  /** The reply. */
  text: oneOrMore(pattern).optional(),
  /** The value of a JSON reply: what is named here must be in it. */
  output: z.json().optional(),
  /** One entry of the evidence that is like this. */
  evidence: z
    .strictObject({
      kind: z.array(z.enum(['command', 'reread', 'review'])).optional(),
      detail: pattern.optional(),
      after_write: z.boolean().optional(),
      exit_code: z.int().optional(),
    })
    .optional(),
  /** Whether something must be named as left to do. */
  remaining: z.boolean().default(false),
  /** `error.code`. */
  error: pattern.optional(),
  /** Tools that must have been called with success. */
  tools: z.array(z.string()).default([]),
  /** Files of the task's scratchpad, of the profile's memory, and PROGRESS.json that match. */
  scratchpad: z.record(z.string(), pattern).default({}),
  memory: z.record(z.string(), pattern).default({}),
  progress: pattern.optional(),
  /** An upper limit below the budget. */
  max_tokens: z.int().nonnegative().optional(),
  max_seconds: z.number().positive().optional(),
});

const FrontMatter = z.strictObject({
  about: z.string().min(1),
  /** What it cannot be done without: tools by name. */
  needs: z.array(z.string()).default([]),
  priority: Priority.default('normal'),
  reply: ReplySchema.default('structured'),
  output_schema: z.record(z.string(), z.json()).optional(),
  write: z.boolean().default(true),
  budget: z.int().positive().default(60_000),
  deadline_s: z.number().positive().max(1_800).default(300),
  /** What the caller says to whatever it is asked. */
  answer: z.string().optional(),
  /** What is in the repository before. */
  files: z.record(z.string(), z.string()).default({}),
  /** What is in its PROGRESS.json before. */
  progress: z.record(z.string(), z.array(z.string())).optional(),
  expect: Expect,
});

/** One brief of the evaluation, with what must come of it. `{{id}}` in it stands for a number that is new in each run. */
export interface EvalBrief extends z.output<typeof FrontMatter> {
  readonly name: string;
  readonly text: string;
}

export type Expectation = EvalBrief['expect'];

/** Reads a brief: YAML between two `---` lines, then the text that the agent gets. Throws with the file's name. */
export function parseBrief(file: string, source: string, id: string): EvalBrief {
  const name = basename(file, '.md');
  const [, head, text] = /^---\n(.*?\n)---\n(.*)$/s.exec(source.replaceAll('{{id}}', id)) ?? [];
  if (head === undefined || text === undefined || text.trim() === '')
    throw new Error(`${file}: a brief is YAML between two --- lines, and a text behind it`);
  const parsed = FrontMatter.safeParse(parse(head));
  if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
  return { ...parsed.data, name, text: text.trim() };
}

/** All briefs of a folder, by name, each with the number that stands for `{{id}}` in it. */
export function readBriefs(
  dir: string,
  newId: () => string,
): { readonly brief: EvalBrief; readonly id: string }[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith('.md'))
    .sort()
    .map((file) => {
      const id = newId();
      return { brief: parseBrief(file, readFileSync(join(dir, file), 'utf8'), id), id };
    });
}
