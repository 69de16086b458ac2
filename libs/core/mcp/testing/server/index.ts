export { type Client, callTool, connectMcp, connectStdio, type TestClientOptions } from './client.ts';
export { connectOfficial, OFFICIAL_CLIENTS, type OfficialClient } from './official-clients.ts';
export { ENVELOPE, statelessRequest } from './stateless-request.ts';
