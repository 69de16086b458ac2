import { FleetError } from '@hermes-fleet/protocol';
import {
  defineTool,
  MAX_QUESTION_CHARS,
  MAX_QUESTIONS,
  type Tool,
  ToolError,
} from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

/** Maximum characters of an answer shown to the model, the same as for a failed command. */
const MAX_ANSWER_CHARS = 64_000;

/** `ask_caller` (docs/agent.md#asking): an answer has the authority of the brief, may take a day, and outlasts a restart. */
export function askTool(): Tool {
  return defineTool({
    name: 'ask_caller',
    description: `Ask the caller of this task, and wait for the answer. Only for what the brief leaves open and nothing here can tell you: the work stands still meanwhile. At most ${MAX_QUESTIONS} questions a task.`,
    inputSchema: z.strictObject({ question: z.string().trim().min(1).max(MAX_QUESTION_CHARS) }),
    mutates: false,
    repeatable: true,
    isConcurrent: false,
    async run({ question }, call) {
      const answer = await call.ask(question, { key: call.key }).catch((error: unknown) => {
        throw error instanceof FleetError && error.code === 'UNSUPPORTED_OPERATION'
          ? new ToolError(`${error.message}; decide yourself, and say in your reply what you assumed`)
          : error;
      });
      const isCut = answer.length > MAX_ANSWER_CHARS;
      const shown = isCut
        ? `${answer.slice(0, MAX_ANSWER_CHARS).toWellFormed()}\n[the rest of a longer answer is cut]`
        : answer;
      return { ok: true, output: `The caller answers:\n\n${shown}`, detail: question.slice(0, 200) };
    },
  });
}
