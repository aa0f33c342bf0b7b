import { parse } from 'yaml'
import { settle } from '../../src/config/schema/settle.ts'
import type { SettleRule } from '../../src/routing/final-cost.ts'

/** Streams as the public documents of APIs of language models show them, shortened, with what is charged by each. */
export interface ModelStream {
  readonly name: string
  readonly type: string
  /** As in a tollgate.yaml. */
  readonly settle: string
  readonly body: Buffer
  /** What it costs. */
  readonly tokens: number
}

export function ruleOf(written: string): SettleRule {
  return settle.parse(parse(written))
}

const events = (...data: readonly object[]) => data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
const named = (...data: readonly Readonly<Record<string, unknown>>[]) =>
  data.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('')
const lines = (...data: readonly object[]) => data.map((each) => `${JSON.stringify(each)}\n`).join('')

const CHAT = { id: 'chatcmpl-123', object: 'chat.completion.chunk', created: 1_694_268_190, model: 'gpt-4o-mini' }
const chat = (content: string, usage?: object | null) => ({
  ...CHAT,
  choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
  ...(usage !== undefined && { usage }),
})
const CHAT_SUM = '{ json: usage, sum: { prompt_tokens: 1, completion_tokens: 4 }, max: 20000 }'

const openAiChat = `${events(
  chat('', null),
  chat('Grüße, "usage":{"completion_tokens":9000}', null),
  { ...chat('', null), choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] },
  {
    ...CHAT,
    choices: [],
    usage: {
      ...{ prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
  },
)}data: [DONE]\n\n`

const RESPONSE = { id: 'resp_67c9fdce', object: 'response', created_at: 1_741_290_958, error: null, usage: null }
const openAiResponses = named(
  { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hi' },
  {
    type: 'response.completed',
    response: {
      ...RESPONSE,
      status: 'completed',
      output: [{ id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: 'Hi there!' }] }],
      usage: { input_tokens: 37, output_tokens: 11, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 48 },
    },
  },
)

const claude = (deltaUsage: object) =>
  named(
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_1nZd', type: 'message', role: 'assistant', content: [], stop_reason: null },
        usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 80, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: deltaUsage },
    { type: 'message_stop' },
  )
const CLAUDE_SUM =
  '{ json: [usage, message.usage], sum: { input_tokens: 1, cache_read_input_tokens: 0.1, output_tokens: 5 }, max: 20000 }'

const gemini = (text: string, usageMetadata: object) => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0 }],
  usageMetadata,
  modelVersion: 'gemini-2.5-flash',
})
const GEMINI = [
  gemini('Hel', { promptTokenCount: 7, totalTokenCount: 7 }),
  gemini('lo', { promptTokenCount: 7, candidatesTokenCount: 22, thoughtsTokenCount: 30, totalTokenCount: 59 }),
]
const GEMINI_SUM =
  '{ json: usageMetadata, sum: { promptTokenCount: 1, candidatesTokenCount: 8, thoughtsTokenCount: 8 }, max: 20000 }'

/** A frame of an Amazon event stream. Nobody here looks at its checksums. */
export function frame(payload: object, header = ':event-type'): Buffer {
  const name = Buffer.from(header)
  const value = Buffer.from('chunk')
  const fields = Buffer.concat([Buffer.from([name.length]), name, Buffer.from([7, 0, value.length]), value])
  const data = Buffer.from(JSON.stringify(payload))
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(12 + fields.length + data.length + 4, 0)
  prelude.writeUInt32BE(fields.length, 4)
  return Buffer.concat([prelude, fields, data, Buffer.alloc(4)])
}

const wrapped = (event: object) => frame({ bytes: Buffer.from(JSON.stringify(event)).toString('base64'), p: 'abcdef' })

export const MODEL_STREAMS: readonly ModelStream[] = [
  {
    name: 'chat completions of OpenAI',
    type: 'text/event-stream; charset=utf-8',
    settle: CHAT_SUM,
    body: Buffer.from(openAiChat),
    tokens: 59,
  },
  {
    name: 'responses of OpenAI',
    type: 'text/event-stream',
    settle: '{ json: [usage, response.usage], sum: { input_tokens: 1, output_tokens: 4 }, max: 20000 }',
    body: Buffer.from(openAiResponses),
    tokens: 81,
  },
  {
    name: 'messages of Anthropic',
    type: 'text/event-stream',
    settle: CLAUDE_SUM,
    body: Buffer.from(claude({ output_tokens: 15 })),
    tokens: 108,
  },
  {
    name: 'messages of Anthropic with tools of its servers',
    type: 'text/event-stream',
    settle: CLAUDE_SUM,
    body: Buffer.from(claude({ input_tokens: 10_682, cache_read_input_tokens: null, output_tokens: 510 })),
    tokens: 10_682 + 8 + 2550,
  },
  {
    name: 'Gemini by alt=sse',
    type: 'text/event-stream',
    settle: GEMINI_SUM,
    body: Buffer.from(events(...GEMINI).replaceAll('\n', '\r\n')),
    tokens: 423,
  },
  {
    name: 'Gemini without it',
    type: 'application/json; charset=UTF-8',
    settle: GEMINI_SUM,
    body: Buffer.from(`[${GEMINI.map((each) => JSON.stringify(each, null, 2)).join('\n,\n')}\n]\n`),
    tokens: 423,
  },
  {
    name: 'vLLM with continuous_usage_stats',
    type: 'text/event-stream; charset=utf-8',
    settle: '{ json: usage.total_tokens, max: 20000 }',
    body: Buffer.from(
      `${events(...[8, 9, 10].map((total_tokens) => chat('a', { prompt_tokens: 7, total_tokens, completion_tokens: total_tokens - 7 })))}data: [DONE]\n\n`,
    ),
    tokens: 10,
  },
  {
    name: 'Ollama',
    type: 'application/x-ndjson',
    settle: '{ sum: { prompt_eval_count: 1, eval_count: 2 }, max: 20000 }',
    body: Buffer.from(
      lines(
        { model: 'llama3.2', created_at: '2023-08-04T08:52:19.385406455-07:00', response: 'The', done: false },
        {
          model: 'llama3.2',
          response: '',
          done: true,
          total_duration: 10_706_818_083,
          prompt_eval_count: 26,
          eval_count: 259,
        },
      ),
    ),
    tokens: 544,
  },
  {
    name: 'ConverseStream of Bedrock',
    type: 'application/vnd.amazon.eventstream',
    settle: '{ json: usage, sum: { inputTokens: 1, outputTokens: 5 }, max: 20000 }',
    body: Buffer.concat([
      frame({ p: 'abcd', role: 'assistant' }),
      frame({ contentBlockIndex: 0, delta: { text: 'Grüße' }, p: 'ab' }),
      frame({ p: 'abcdefg', stopReason: 'end_turn' }),
      frame({ metrics: { latencyMs: 1275 }, p: 'abcd', usage: { inputTokens: 47, outputTokens: 20, totalTokens: 67 } }),
    ]),
    tokens: 147,
  },
  {
    name: 'InvokeModelWithResponseStream of Bedrock',
    type: 'application/vnd.amazon.eventstream',
    settle: '{ json: amazon-bedrock-invocationMetrics, sum: { inputTokenCount: 1, outputTokenCount: 5 }, max: 20000 }',
    body: Buffer.concat([
      wrapped({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
      wrapped({
        type: 'message_stop',
        'amazon-bedrock-invocationMetrics': { inputTokenCount: 16, outputTokenCount: 41 },
      }),
    ]),
    tokens: 221,
  },
]
