#!/bin/sh
# Sourced by kernel.sh and root.sh. What another work tree of this repository has built is linked instead of built again. Nothing writes to it:
# a later build replaces the file.

# reuse NAME FILE: into $folder, from .cache/NAME of a work tree whose sum is $wanted. Needs $here, $folder, $wanted.
reuse() {
  git -C "$here" worktree list --porcelain 2>/dev/null | sed -n 's/^worktree //p' > "$folder/worktrees" || return 1
  while read -r tree; do
    other=$tree/.cache/$1
    [ ! "$other" -ef "$folder" ] && [ -e "$other/$2" ] && [ "$(cat "$other/sum" 2>/dev/null)" = "$wanted" ] || continue
    ln -f "$other/$2" "$folder/$2.part" 2>/dev/null || cp --sparse=always "$other/$2" "$folder/$2.part"
    mv "$folder/$2.part" "$folder/$2"
    echo "$wanted" > "$folder/sum"
    echo "==> using $other/$2"
    return 0
  done < "$folder/worktrees"
  return 1
}
