/** Holds text of any length in an unnamed temporary file, to be read once it is complete. */
import { tmpdir } from 'node:os'
import { createUnnamedFile } from '../import/import-buffer.ts'

export type TextBuffer = {
  readonly write: (text: string) => Promise<void>
  readonly read: () => AsyncGenerator<Uint8Array>
  /** Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

const chunkSize = 64 * 1024

export async function openTextBuffer(): Promise<TextBuffer> {
  const file = await createUnnamedFile(tmpdir())
  return {
    write: async (text) => {
      await file.appendFile(text)
    },
    async *read() {
      for (let position = 0; ; ) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, position)
        if (bytesRead === 0) return
        yield buffer.subarray(0, bytesRead)
        position += bytesRead
      }
    },
    close: () => file.close(),
  }
}
