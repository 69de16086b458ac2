import { messageId, readMcpMessage } from '@hermes-fleet/mcp/server';
import { FleetError, isJsonObject, type JsonObject, jsonMembers } from '@hermes-fleet/protocol';
import { checkNesting } from '@hermes-fleet/service';
import { GET_TOOL, LIST_TOOL } from './mcp-tools.ts';

/** A tool call as received. */
export interface ToolCall {
  /** Undefined if the call names no tool. */
  readonly tool: string | undefined;
  /** The text of the arguments; undefined if there are none. */
  readonly argumentsText: string | undefined;
  /** The principal that the caller claims to act for. */
  readonly onBehalfOf: string | undefined;
  /** The trace of the task in which the call is made (W3C Trace Context). It is not validated. */
  readonly traceparent: string | undefined;
}

/** A parsed body of POST /mcp. */
export interface McpBody {
  readonly id: string | number | null;
  /** The message for the SDK. It lacks the arguments of a call, so that the SDK cannot refuse them. */
  readonly message: JsonObject;
  readonly call: ToolCall | undefined;
  /** True for a message that is, or may be meant as, an attempt at a decision. */
  readonly isAttempt: boolean;
}

/** The methods of MCP other than tools/call. They are not attempts at a decision. */
const OF_MCP =
  /^(initialize|ping|tools\/list|(server|subscriptions|notifications|resources|prompts|completion|logging|tasks)\/.+)$/;

/** The members of `_meta` that belong to the protocol: since its revision 2026-07-28 they describe the client. */
const OF_PROTOCOL = /^io\.modelcontextprotocol\//;

/**
 * Throws PARSE_ERROR for invalid JSON, and INVALID_REQUEST for anything but a single message with a single call, and for what
 * is nested too deep, but for the arguments of the call.
 */
export function readMcpBody(text: string): McpBody {
  const body = readMcpMessage(text);
  const id = messageId(body.id);
  if (body.method !== 'tools/call') {
    checkNesting(body);
    return { id, message: body, call: undefined, isAttempt: !isOfMcp(body) };
  }
  const params = isJsonObject(body.params) ? body.params : {};
  const tool = typeof params.name === 'string' ? params.name : undefined;
  const meta = isJsonObject(params._meta) ? params._meta : {};
  const call = {
    tool,
    argumentsText: onlyMember(onlyMember(text, 'params'), 'arguments'),
    onBehalfOf: textOf(meta.on_behalf_of),
    traceparent: textOf(meta.traceparent),
  };
  // A missing name becomes an unknown tool, for which the error message is clearer than the SDK's.
  const envelope = Object.entries(meta).filter(([name]) => OF_PROTOCOL.test(name));
  const bare: JsonObject = {
    name: tool ?? '',
    arguments: {},
    ...(envelope.length > 0 && { _meta: Object.fromEntries(envelope) }),
  };
  const isAttempt = tool !== LIST_TOOL && tool !== GET_TOOL;
  // The arguments go to the decision service as a text of any depth.
  const message = { ...body, params: bare };
  checkNesting(message);
  return { id, message, call, isAttempt };
}

function isOfMcp({ method, result, error }: JsonObject): boolean {
  if (typeof method === 'string') return OF_MCP.test(method);
  return method === undefined && (result !== undefined || error !== undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The text of a member. Throws INVALID_REQUEST for a repeated member, which is ambiguous. */
function onlyMember(text: string | undefined, name: string): string | undefined {
  const members = (text === undefined ? undefined : jsonMembers(text))?.filter((each) => each.name === name);
  if (members !== undefined && members.length > 1)
    throw new FleetError(
      'INVALID_REQUEST',
      `${name} occurs more than once in the call; send one call at a time`,
    );
  return members?.[0]?.text;
}
