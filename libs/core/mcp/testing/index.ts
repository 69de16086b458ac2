export { type Client, callTool, connectMcp, connectStdio, type TestClientOptions } from './client/client.ts';
export { connectOfficial, OFFICIAL_CLIENTS, type OfficialClient } from './client/official-clients.ts';
export { ENVELOPE, statelessRequest } from './client/stateless-request.ts';
