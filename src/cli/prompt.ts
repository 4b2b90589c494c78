/** Asks a person on a terminal. What is secret is not shown while it is typed. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

export type Question = {
  readonly text: string
  readonly isSecret: boolean
  readonly problemOf: (answer: string) => string | null
}

export type Prompt = { readonly ask: (question: Question) => Promise<string>; readonly close: () => void }

export function openPrompt(): Prompt {
  let isMuted = false
  const output = new Writable({
    write: (part, _, done) => {
      if (!isMuted) process.stderr.write(part)
      done()
    },
  })
  const terminal = createInterface({ input: process.stdin, output, terminal: true })
  return {
    close: () => terminal.close(),
    ask: async ({ text, isSecret, problemOf }) => {
      for (;;) {
        const answered = terminal.question(`${text}: `)
        isMuted = isSecret
        const answer = (await answered).trim()
        isMuted = false
        if (isSecret) process.stderr.write('\n')
        const problem = problemOf(answer)
        if (problem === null) return answer
        process.stderr.write(`  ${problem}\n`)
      }
    },
  }
}
