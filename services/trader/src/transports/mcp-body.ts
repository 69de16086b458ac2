import {
  FleetError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonMembers,
} from '@hermes-fleet/protocol';
import { GET_TOOL, LIST_TOOL } from './mcp-tools.ts';

/** A call of a tool, as it stands in the request. */
export interface ToolCall {
  /** Undefined where the call does not say one. */
  readonly tool: string | undefined;
  /** The text of its arguments; undefined where there are none. */
  readonly argumentsText: string | undefined;
  /** Whom the caller says that it acts for. */
  readonly onBehalfOf: string | undefined;
}

/** A body of POST /mcp: a message for the SDK, with the call in it, if it is one. */
export interface McpBody {
  readonly id: string | number | null;
  /** Without the arguments of a call, so that the SDK can refuse none. */
  readonly message: JsonObject;
  readonly call: ToolCall | undefined;
  /** Whether it is, or may be meant as, an attempt at a decision. */
  readonly isAttempt: boolean;
}

/** What MCP has beside calls of tools: none of it decides anything. */
const OF_MCP =
  /^(initialize|ping|tools\/list|(notifications|resources|prompts|completion|logging|tasks)\/.+)$/;

/** Throws PARSE_ERROR for what is no JSON, and INVALID_REQUEST for what is no single message, or calls twice at once. */
export function readMcpBody(text: string): McpBody {
  let body: JsonValue;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new FleetError('PARSE_ERROR', 'the body is not JSON', { cause });
  }
  if (Array.isArray(body))
    throw new FleetError('INVALID_REQUEST', 'batches are not supported; send one message at a time');
  if (!isJsonObject(body)) throw new FleetError('INVALID_REQUEST', 'the body is not a JSON-RPC message');
  const id = typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
  if (body.method !== 'tools/call') return { id, message: body, call: undefined, isAttempt: !isOfMcp(body) };
  const params = isJsonObject(body.params) ? body.params : {};
  const tool = typeof params.name === 'string' ? params.name : undefined;
  const meta = isJsonObject(params._meta) ? params._meta : {};
  const call = {
    tool,
    argumentsText: sole(sole(text, 'params'), 'arguments'),
    onBehalfOf: nameOf(meta.on_behalf_of),
  };
  // Without a name it is a tool that is not there: the SDK's own words for that are none for a caller.
  const bare: JsonObject = { name: tool ?? '', arguments: {} };
  const isAttempt = tool !== LIST_TOOL && tool !== GET_TOOL;
  return { id, message: { ...body, params: bare }, call, isAttempt };
}

function isOfMcp({ method, result, error }: JsonObject): boolean {
  if (typeof method === 'string') return OF_MCP.test(method);
  return method === undefined && (result !== undefined || error !== undefined);
}

function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The text of a member; INVALID_REQUEST where it stands there twice, and nobody can tell which one counts. */
function sole(text: string | undefined, name: string): string | undefined {
  const members = (text === undefined ? undefined : jsonMembers(text))?.filter((each) => each.name === name);
  if (members !== undefined && members.length > 1)
    throw new FleetError(
      'INVALID_REQUEST',
      `${name} stands more than once in the call; send one call at a time`,
    );
  return members?.[0]?.text;
}
