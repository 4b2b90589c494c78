/**
 * What an assistant writes, frame by frame: nothing of it ends the server or stays without an
 * answer.
 */
import { expect, test } from 'vitest'
import { createFrameReader } from '../../src/mcp/frames.ts'

/** What is read, and what is answered, of a text that arrives in pieces. */
async function read(text: string, { maxBytes = 100, piece = 7 } = {}) {
  const answers: unknown[] = []
  const reader = createFrameReader((frame) => answers.push(JSON.parse(frame)), maxBytes)
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += piece)
    reader.write(bytes.subarray(from, from + piece))
  reader.end()
  const frames: Buffer[] = []
  for await (const chunk of reader) frames.push(chunk as Buffer)
  const lines = Buffer.concat(frames).toString().split('\n').slice(0, -1)
  return { lines, answers }
}

test('frames pass as they are, in whatever pieces they arrive', async () => {
  const text = '{"id":1,"text":"Grüße"}\n{"id":2}\r\n\n'
  expect(await read(text)).toEqual({
    lines: ['{"id":1,"text":"Grüße"}', '{"id":2}\r'],
    answers: [],
  })
})

test.each([
  ['first', (id: string, text: string) => `{"jsonrpc":"2.0","id":${id},"method":"${text}"}`],
  ['last', (id: string, text: string) => `{"method":"${text}","jsonrpc":"2.0","id":${id}}`],
])(
  'one that is too long is answered by its id, which stands %s, and the next one is read',
  async (_, frame) => {
    const long = frame('"a-7"', 'x'.repeat(5000))
    for (const piece of [7, 64 * 1024])
      expect(await read(`${long}\n{"id":8}\n`, { piece })).toEqual({
        lines: ['{"id":8}'],
        answers: [
          {
            jsonrpc: '2.0',
            id: 'a-7',
            error: { code: -32600, message: expect.stringContaining('longer than the 100') },
          },
        ],
      })
  },
)

test('one that is no JSON is answered, and the next one is read', async () => {
  const { lines, answers } = await read('{"id":\n{"id":9}\n')
  expect(lines).toEqual(['{"id":9}'])
  expect(answers).toMatchObject([{ id: null, error: { code: -32700 } }])
})

test('a whole number that would be rounded keeps its digits', async () => {
  const { lines } = await read(
    '{"rows":[{"expect":12345678901234567891,"part":0.1234567890123456}]}\n',
  )
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    rows: [{ expect: '12345678901234567891', part: 0.1234567890123456 }],
  })
})
