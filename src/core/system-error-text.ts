/** Errors of the operating system in words. Source: errno(3), nodejs.org/api/errors.html. */

export type SystemErrorText = {
  readonly why: string
  readonly next: string
  /** 1: trying again may help. 2: a person must change something first. */
  readonly exitCode: 1 | 2
}

const systemErrors: readonly (readonly [RegExp, SystemErrorText])[] = [
  [/^ENOENT$/, { why: 'there is no such file or folder', next: 'check the path', exitCode: 2 }],
  [/^ENOTDIR$/, { why: 'a part of the path is no folder', next: 'check the path', exitCode: 2 }],
  [/^EISDIR$/, { why: 'it is a folder', next: 'name a file in it', exitCode: 2 }],
  [
    /^(EACCES|EPERM)$/,
    { why: 'this user may not', next: 'change its permissions, or run as the user that owns it', exitCode: 2 },
  ],
  [/^EROFS$/, { why: 'the disk can only be read', next: 'name a place that can be written to', exitCode: 2 }],
  [/^(ENOSPC|EDQUOT)$/, { why: 'the disk is full', next: 'make room there, and try again', exitCode: 1 }],
  [/^EIO$/, { why: 'the disk fails', next: 'look after the disk, and try again', exitCode: 1 }],
  [
    /^(EMFILE|ENFILE)$/,
    { why: 'no more files may be opened', next: 'raise the limit (ulimit -n), and try again', exitCode: 1 },
  ],
  [
    /^(ENOMEM|EAGAIN)$/,
    { why: 'no memory or no processes are left', next: 'try again when others ended', exitCode: 1 },
  ],
  [/^EADDRINUSE$/, { why: 'the port is in use', next: 'choose another port', exitCode: 2 }],
  [/^ENAMETOOLONG$/, { why: 'the name is too long', next: 'check the path', exitCode: 2 }],
]

/** Undefined for what is no error of the system, or none that is known here. */
export function systemErrorText(error: unknown): SystemErrorText | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return systemErrors.find(([pattern]) => pattern.test(code))?.[1]
}
