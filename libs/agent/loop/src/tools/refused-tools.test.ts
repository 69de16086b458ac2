import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { APICallError } from 'ai';
import { refusedTools } from './refused-tools.ts';

const NAMES = ['read_file', 'delegate', 'write_file', 'mcp__docs__find'];

/** The error that a call of the model throws for such an answer. */
function refusal(body: unknown, status = 400): FleetError {
  const responseBody = typeof body === 'string' ? body : JSON.stringify(body);
  const parts = { message: 'Bad Request', url: 'http://127.0.0.1/', requestBodyValues: {} };
  const cause = new APICallError({ ...parts, statusCode: status, responseBody });
  return new FleetError('MODEL_FAILED', `the model's provider answered ${status}`, { cause });
}

const said = (message: string, rest: object = {}) => ({ error: { message, ...rest } });

/** Refusals, by provider. Only the last of the tools is refused, unless the third element says otherwise. */
const REFUSED: readonly (readonly [provider: string, body: unknown, tools?: readonly string[]])[] = [
  [
    'OpenAI',
    said("Invalid schema for function 'mcp__docs__find': In context=(), object schema missing properties.", {
      param: 'tools[3].function.parameters',
      code: 'invalid_function_parameters',
    }),
  ],
  [
    'OpenAI, without the place',
    said("Invalid schema for function 'mcp__docs__find': array schema missing items."),
  ],
  ['OpenAI, a name', said("Invalid 'tools[3].function.name': string does not match pattern.")],
  ['Responses', said('Invalid schema.', { param: 'tools[3].parameters' })],
  ['Anthropic', said('tools.3.custom.input_schema: JSON schema is invalid.')],
  [
    'Gemini',
    said(
      '* GenerateContentRequest.tools[0].function_declarations[3].parameters.properties[a].items: missing field.',
    ),
  ],
  [
    'Gemini, unknown field',
    said(`Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[0].parameters.properties[1].value': Cannot find field.
Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[3].parameters.properties[0].value': Proto field is not repeating, cannot start list.`),
    ['read_file', 'mcp__docs__find'],
  ],
  [
    'Gemini, by a gateway that sends each tool as an entry of its own',
    said('GenerateContentRequest.tools[3].function_declarations[0].parameters.properties[a]: missing field.'),
  ],
  [
    'Gemini, older',
    said('Unknown name "maximum" at \'tools.function_declarations[3].parameters\': Cannot find field.'),
  ],
  [
    'Vertex',
    said(
      'Unable to submit request because `mcp__docs__find` functionDeclaration `parameters.a` schema is wrong',
    ),
  ],
  [
    'Groq',
    said(
      "invalid JSON schema for tool mcp__docs__find, tools[3].function.parameters: 'required' present but 'properties' is missing",
    ),
  ],
  [
    'Mistral',
    {
      detail: [{ type: 'dict_type', loc: ['body', 'tools', 3, 'function', 'parameters'], msg: 'not a dict' }],
    },
  ],
  [
    'vLLM',
    said("[{'type': 'missing', 'loc': ('body', 'tools', 3, 'function', 'name'), 'msg': 'Field required'}]"),
  ],
  [
    'LM Studio',
    [{ code: 'invalid_type', path: [3, 'function', 'parameters', 'properties'], message: 'Required' }],
  ],
  [
    'OpenRouter',
    said('Provider returned error', {
      metadata: { raw: JSON.stringify(said("Invalid schema for function 'mcp__docs__find': no.")) },
    }),
  ],
  ['a plain word in quotes', said('Tool "delegate" has an invalid schema'), ['delegate']],
  ['a proxy, by the place', said('tools[3]: its schema is not supported')],
  ['a proxy, by the place alone', said("Invalid value for 'tools[3]'.")],
  ['a gateway', said('function mcp__docs__find has invalid parameters')],
  ['another gateway', said('Unsupported tool: mcp__docs__find')],
  ['a proxy', said('function mcp__docs__find: the keyword pattern is not supported')],
];

test('a refusal of a definition names its tool, as each provider writes it', () => {
  for (const [provider, body, tools = ['mcp__docs__find']] of REFUSED)
    assert.deepEqual(refusedTools(refusal(body), NAMES), tools, provider);
  assert.deepEqual(refusedTools(refusal({ detail: 'tools.3.function.parameters: no' }, 422), NAMES), [
    'mcp__docs__find',
  ]);
});

const OTHERS: readonly unknown[] = [
  said('Failed to fetch the image; find another, or delegate.'),
  said('write_file'),
  said('The schema of response_format is invalid: delegate is no type'),
  said("messages[3].tool_calls[0].function.arguments: invalid JSON for 'write_file'"),
  said(
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
  ),
  said("Tool 'write_file' not found in the request, but tool_choice names it"),
  said("Invalid arguments for tool 'write_file': do not match its schema"),
  said("The arguments of function 'write_file' do not conform to the schema: path is required"),
  said("Arguments do not fit the schema of function 'write_file'"),
  said("Parallel calls of tool 'write_file' are not supported"),
  said('tool_choice with tool `write_file` is not supported'),
  said("Invalid tool 'write_file' in tool_choice"),
  said("Tool 'write_file' was called with invalid parameters"),
  said("Function 'write_file' requires the parameter 'path'"),
  said("The input of tool 'write_file' does not match its schema"),
  said('GenerateContentRequest.tools[1].function_declarations[2].parameters: no such place'),
  said('This model does not support tools.'),
  said("Unknown parameter: 'tools[3].function.strict'.", { param: 'tools[3].function.strict' }),
  said('tools[3].type: not one of those in the schema'),
  { detail: [{ loc: ['body', 'tools', 3, 'function', 'strict'], msg: 'Extra inputs are not permitted' }] },
  said('tools.3.custom.cache_control: too many blocks'),
  said("Invalid 'tools': array too long. Expected at most 128, but got 200."),
  said('tools[40].function.parameters: no such tool'),
  said('tool call validation failed: parameters for tool read_file did not match schema: errors: [`/path`]', {
    code: 'tool_use_failed',
  }),
  said('Failed to call a function.', {
    failed_generation: '<function=read_file>',
    param: 'tools[0].parameters',
  }),
  said("This model's maximum context length is 8192 tokens, your messages and functions 9000."),
  '<html>tools</html>',
];

test('any other refusal names no tool', () => {
  for (const body of OTHERS) assert.deepEqual(refusedTools(refusal(body), NAMES), [], JSON.stringify(body));
  const schema = said("Invalid schema for function 'read_file'");
  for (const status of [401, 404, 413, 429, 500, 503])
    assert.deepEqual(refusedTools(refusal(schema, status), NAMES), [], String(status));
  for (const error of [new Error('tools[0].parameters'), undefined, new FleetError('BUDGET_EXHAUSTED', 'x')])
    assert.deepEqual(refusedTools(error, NAMES), []);
});

test('a name is not that of a longer one', () => {
  const body = said("Invalid schema for function 'mcp__docs__find_all'");
  assert.deepEqual(refusedTools(refusal(body), NAMES), []);
});
