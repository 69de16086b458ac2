import { isClientHeader } from '@hermes-fleet/net';
import { z } from 'zod';

/** A whole number. */
export const whole = (least: number, most?: number) =>
  most === undefined ? z.int().min(least) : z.int().min(least).max(most);
/** A number of seconds. */
export const seconds = (least: number, most: number) => z.number().min(least).max(most);
export const httpUrl = z.url({ protocol: /^https?$/ });

/** How patient a call of the model is: docs/agent.md#calls-that-fail. */
export const ModelCallsConfig = z.strictObject({
  patience_s: seconds(0, 86_400)
    .default(600)
    .describe('how long a [call that fails](agent.md#calls-that-fail) for the moment is repeated'),
  new_task_patience_s: seconds(0, 86_400)
    .default(10)
    .describe('the same for a task that has spent nothing, so that another worker may do it'),
  broken_answers: whole(0, 10).default(2).describe('how often an answer that broke off is asked for again'),
  // Long by default: a server that reads a long prompt on a CPU sends nothing for minutes.
  first_token_s: seconds(1, 3_600)
    .default(600)
    .describe('how long a call waits for the first token of an answer'),
  idle_s: seconds(1, 3_600).default(600).describe('how long a call waits for the next part of an answer'),
});

/** Code of another provider, of the `ai` family: docs/agent.md#other-providers. */
const ProviderPackage = z.strictObject({
  package: z
    .string()
    .regex(
      /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/,
      'must be the name of an npm package, e.g. @ai-sdk/google',
    )
    .describe('the npm package'),
  factory: z
    .string()
    .min(1)
    .optional()
    .describe('its function that creates the provider; default: the only one that begins with `create`'),
  options: z.record(z.string(), z.json()).default({}).describe('passed to that function'),
});

/** The keys of config.yaml that describe one model and how it is called. */
export const modelKeys = {
  base_url: httpUrl
    .optional()
    .describe("the address of the model's API, without user and password; required for `openai-compatible`"),
  api_key_env: z
    .string()
    .min(1)
    .optional()
    .describe("the API's key; default: for three providers, their usual variable"),
  context_window: whole(1000)
    .optional()
    .describe("the model's [window](agent.md#context-window) in tokens; default: the provider is asked"),
  provider: ProviderPackage.optional().describe('the code of [another provider](agent.md#other-providers)'),
  headers: z
    .record(
      z
        .string()
        .regex(/^[\w-]+$/, 'must be the name of a header')
        .refine((name) => !isClientHeader(name), 'is set by the client: leave it out'),
      z.string(),
    )
    .default({})
    .describe('a header of every request to the provider, but for those that the client sets'),
  extra_body: z
    .record(z.string(), z.json())
    .default({})
    .describe('added to the JSON of every call, for what a provider has beyond the common parameters'),
  prompt_cache: z
    .boolean()
    .default(true)
    .describe('let Anthropic keep the prompt for the next call, see [Prompt cache](agent.md#prompt-cache)'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe('the sampling temperature; without it, none is sent'),
  effort: z
    .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .optional()
    .describe('how much the model thinks, where it can; default: the provider decides'),
};

/** A model that is called when those before it cannot be: its name, or its name and its own keys. */
export const FallbackModel = z.union([
  z
    .string()
    .min(1)
    .transform((model) => z.strictObject({ model: z.string(), ...modelKeys }).parse({ model })),
  z.strictObject({ model: z.string().min(1), ...modelKeys }),
]);
