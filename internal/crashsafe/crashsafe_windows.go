package crashsafe

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// divert sets the standard error handle to the null device at the path device, and returns the former
// standard error. Setting the handle is enough, since the runtime reads the handle at each write.
func divert(device string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(device)
	if err != nil {
		return nil, err
	}
	null, err := windows.CreateFile(name, windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil,
		windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, err
	}
	if kind, err := windows.GetFileType(null); err != nil || kind != windows.FILE_TYPE_CHAR {
		return nil, errors.Join(errors.New(device+": must be a character device"), err)
	}
	if err := windows.SetStdHandle(windows.STD_ERROR_HANDLE, null); err != nil {
		return nil, err
	}
	return os.Stderr, nil
}

// noImage turns off Windows Error Reporting, which may write dumps of the memory. The runtime turns Windows
// Error Reporting on if GOTRACEBACK is wer.
func noImage() error {
	const failCriticalErrors, noFaultBox, noOpenFileBox = 1, 2, 0x8000
	set := windows.NewLazySystemDLL("kernel32.dll").NewProc("SetErrorMode")
	if err := set.Find(); err != nil {
		return err
	}
	set.Call(failCriticalErrors | noFaultBox | noOpenFileBox)
	return nil
}
