/** Errors of the operating system as sentences. Source: errno(3), nodejs.org/api/errors.html. */

type SystemErrorText = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

const systemErrors: readonly (readonly [RegExp, SystemErrorText])[] = [
  [/^ENOENT$/, { why: 'there is no such file or folder', next: 'check the path', exitCode: 2 }],
  // `mkdir` says EEXIST where a file has the name of the folder.
  [/^(ENOTDIR|EEXIST)$/, { why: 'a part of the path is not a folder', next: 'check the path', exitCode: 2 }],
  [/^EISDIR$/, { why: 'it is a folder', next: 'name a file in it', exitCode: 2 }],
  [
    /^(EACCES|EPERM)$/,
    { why: 'permission denied', next: 'change its permissions, or run as the user that owns it', exitCode: 2 },
  ],
  [/^EROFS$/, { why: 'the file system is read-only', next: 'choose a writable path', exitCode: 2 }],
  [/^(ENOSPC|EDQUOT)$/, { why: 'the disk is full', next: 'free some space, and try again', exitCode: 1 }],
  [/^EIO$/, { why: 'the disk reported an error', next: 'check the disk, and try again', exitCode: 1 }],
  [
    /^(EMFILE|ENFILE)$/,
    { why: 'too many open files', next: 'raise the limit (ulimit -n), and try again', exitCode: 1 },
  ],
  [
    /^(ENOMEM|EAGAIN)$/,
    { why: 'memory or processes are exhausted', next: 'try again when other processes have ended', exitCode: 1 },
  ],
  [/^EADDRINUSE$/, { why: 'the port is in use', next: 'choose another port', exitCode: 2 }],
  [/^ENAMETOOLONG$/, { why: 'the name is too long', next: 'check the path', exitCode: 2 }],
]

/** Undefined if it is not a system error, or not one of these. */
export function systemErrorText(error: unknown): SystemErrorText | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return systemErrors.find(([pattern]) => pattern.test(code))?.[1]
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
