import { FleetError, fieldErrors, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller, Scope } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import {
  AnyParams,
  LegacyPushConfigParams,
  LegacyPushCreateParams,
  LegacyPushGetParams,
  LegacySendParams,
  LegacyTaskParams,
  ListParams,
  PushConfigParams,
  PushCreateParams,
  PushListParams,
  SendParams,
  TaskParams,
} from './params.ts';

export type A2AVersion = '1.0' | '0.3';

export interface Method {
  readonly name: string;
  readonly version: A2AVersion;
  /** `send` may wait for a task, `stream` answers by SSE, `unary` answers at once. */
  readonly kind: 'send' | 'stream' | 'unary';
  readonly params: z.ZodType;
  /** True when the params hold a message for the intake. */
  readonly takesMessage: boolean;
  /** True for the methods of push notification configs. */
  readonly isPush: boolean;
  /** The caller needs one of these scopes; with none, authentication is enough. */
  readonly scopes: readonly Scope[];
}

const SEND: readonly Scope[] = ['dispatch', 'announce'];
const READ: readonly Scope[] = ['read'];
const CANCEL: readonly Scope[] = ['dispatch'];

type Row = [name: string, kind: Method['kind'], params: z.ZodType, scopes: readonly Scope[]];

const V1: readonly Row[] = [
  ['SendMessage', 'send', SendParams, SEND],
  ['SendStreamingMessage', 'stream', SendParams, SEND],
  ['GetTask', 'unary', TaskParams, READ],
  ['ListTasks', 'unary', ListParams, READ],
  ['CancelTask', 'unary', TaskParams, CANCEL],
  ['SubscribeToTask', 'stream', TaskParams, READ],
  ['CreateTaskPushNotificationConfig', 'unary', PushCreateParams, READ],
  ['GetTaskPushNotificationConfig', 'unary', PushConfigParams, READ],
  ['ListTaskPushNotificationConfigs', 'unary', PushListParams, READ],
  ['DeleteTaskPushNotificationConfig', 'unary', PushConfigParams, READ],
  ['GetExtendedAgentCard', 'unary', AnyParams, []],
];

const V03: readonly Row[] = [
  ['message/send', 'send', LegacySendParams, SEND],
  ['message/stream', 'stream', LegacySendParams, SEND],
  ['tasks/get', 'unary', LegacyTaskParams, READ],
  ['tasks/cancel', 'unary', LegacyTaskParams, CANCEL],
  ['tasks/resubscribe', 'stream', LegacyTaskParams, READ],
  ['tasks/pushNotificationConfig/set', 'unary', LegacyPushCreateParams, READ],
  ['tasks/pushNotificationConfig/get', 'unary', LegacyPushGetParams, READ],
  ['tasks/pushNotificationConfig/list', 'unary', LegacyTaskParams, READ],
  ['tasks/pushNotificationConfig/delete', 'unary', LegacyPushConfigParams, READ],
  ['agent/getAuthenticatedExtendedCard', 'unary', AnyParams, []],
];

const METHODS: ReadonlyMap<string, Method> = new Map([
  ...V1.map((row) => entry('1.0', row)),
  ...V03.map((row) => entry('0.3', row)),
]);

function entry(version: A2AVersion, [name, kind, params, scopes]: Row): [string, Method] {
  const takesMessage = params === SendParams || params === LegacySendParams;
  const isPush = /PushNotificationConfig/i.test(name);
  return [name, { name, version, kind, params, takesMessage, isPush, scopes }];
}

/**
 * Finds the method of a request. The method names of A2A 1.0 and 0.3 are disjoint, so the name alone decides when
 * `A2A-Version` is absent; otherwise major and minor version must match (A2A 1.0, section 3.6). Throws METHOD_NOT_FOUND
 * or VERSION_NOT_SUPPORTED.
 */
export function findMethod(name: string, versionHeader: string | undefined): Method {
  const asked = versionHeader?.trim() ? readVersion(versionHeader.trim()) : undefined;
  const method = METHODS.get(name);
  if (method === undefined || (asked !== undefined && method.version !== asked)) {
    const spoken = asked === undefined ? 'A2A 1.0 or 0.3' : `A2A ${asked}`;
    throw new FleetError('METHOD_NOT_FOUND', `there is no method "${name.slice(0, 100)}" in ${spoken}`);
  }
  return method;
}

function readVersion(header: string): A2AVersion {
  if (header === '1.0' || header === '0.3') return header;
  const [, major, minor] = /^(\d{1,3})(?:\.(\d{1,3}))?(?:\.\d{1,5})?$/.exec(header) ?? [];
  const version = major === undefined ? header.slice(0, 20) : `${Number(major)}.${Number(minor ?? 0)}`;
  if (version === '1.0' || version === '0.3') return version;
  throw new FleetError('VERSION_NOT_SUPPORTED', `A2A version ${version} is not supported; use 1.0 or 0.3`);
}

/** Throws FORBIDDEN unless the caller has a scope for the method; `sendScopes` also permit methods that take messages. */
export function authorize(caller: Caller, method: Method, sendScopes: readonly Scope[] = []): void {
  const { name } = method;
  const has = (scope: Scope): boolean => caller.scopes.has(scope);
  if (method.scopes.length === 0 || method.scopes.some(has)) return;
  const scopes = method.takesMessage ? [...method.scopes, ...sendScopes] : method.scopes;
  if (scopes.some(has)) return;
  const needed = scopes.map((scope) => `"${scope}"`).join(' or ');
  throw new FleetError('FORBIDDEN', `caller "${caller.name}" lacks the scope ${needed} that ${name} needs`);
}

/** The wrong fields that an error names. */
const MAX_FIELDS = 20;

/** Returns the parameters with camelCase names; throws INVALID_PARAMS that names the wrong fields, up to 20 of them. */
export function readParams(method: Method, params: unknown): JsonObject {
  const parsed = method.params.safeParse(params === undefined || params === null ? {} : params);
  if (parsed.success && isJsonObject(parsed.data)) return parsed.data;
  const all = parsed.success ? [] : fieldErrors(parsed.error);
  const fields = all.slice(0, MAX_FIELDS).map(({ path, reason }) => ({ path: path || 'params', reason }));
  const list = fields.map(({ path, reason }) => `${path}: ${reason}`).join('; ');
  const more = all.length > fields.length ? `; and ${all.length - fields.length} more` : '';
  throw new FleetError('INVALID_PARAMS', `params of ${method.name} are not valid: ${list}${more}`, {
    fields,
  });
}
