export {
  type ChatChunk,
  type ChatTransport,
  type ChatTransportOptions,
  createChatTransport,
} from "./fetch/chat-transport.js";
export { createRunFetch, type RunFetch, type RunFetchOptions, type RunStorage } from "./fetch/run-fetch.js";
